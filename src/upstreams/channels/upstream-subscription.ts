import type { ChangeListener, Listening, WantedChanges, ListedKind } from '../contract/list-change.js';
import { toUpstreamError, UpstreamError } from '../contract/upstream-error.js';
import type { ListenOptions } from '../contract/upstream.js';
import { STABLE_MS } from '../notifications/notification-stream.js';
import type { Loan } from '../pool/upstream-pool.js';

/** How many sessions in a row that were lost quickly are replaced. */
const MAX_QUICK_LOSSES = 3;

export interface ChangeReader extends Pick<ChangeListener, 'listChanged' | 'resourceUpdated' | 'missed'> {
  /** The subscription has ended. */
  failed(error: UpstreamError): void;
}

/**
 * Changes that an upstream reports to one reader, in a session of the service. A session that an HTTP upstream has lost
 * is replaced by another one. What ends a program ends the subscription.
 */
export class UpstreamSubscription implements ChangeListener {
  private listening: Listening | undefined;
  /** The resources that the upstream has subscribed to; all that are wanted until it has answered. */
  private uris: readonly string[];
  private loan: Loan | undefined;
  private isStopped = false;
  private isOpening = false;
  private hasEnded = false;
  private openedAt = 0;
  private quickLosses = 0;

  /** @param borrow lends the upstream in whose session the changes are reported */
  constructor(
    private readonly borrow: (signal: AbortSignal | undefined) => Promise<Loan>,
    private readonly wanted: WantedChanges,
    private readonly reader: ChangeReader,
    private readonly caller: string,
  ) {
    this.uris = wanted.uris;
  }

  /**
   * Returns the resources that the upstream has subscribed to; undefined if it reports no changes. Call `stop` unless
   * it rejects.
   * @throws UpstreamError
   */
  async open(signal?: AbortSignal): Promise<readonly string[] | undefined> {
    const options: ListenOptions = { caller: this.caller, ...(signal !== undefined && { signal }) };
    const loan = await this.borrow(signal);
    this.hasEnded = false;
    this.isOpening = true;
    try {
      const listening = await loan.upstream.listenForChanges(this.wanted, this, options);
      if (listening === undefined) {
        loan.giveBack();
        return undefined;
      }
      this.listening = listening;
      this.uris = listening.uris;
      this.loan = loan;
      this.openedAt = performance.now();
      if (this.isStopped) this.release();
      return listening.uris;
    } catch (error) {
      loan.giveBack();
      throw error;
    } finally {
      this.isOpening = false;
      if (this.hasEnded && this.listening !== undefined) void this.reopen();
    }
  }

  stop(): void {
    this.isStopped = true;
    this.release();
  }

  listChanged(kind: ListedKind): void {
    if (this.wanted.kinds.includes(kind)) this.reader.listChanged(kind);
  }

  resourceUpdated(uri: string): void {
    if (this.uris.some((subscribed) => isIn(subscribed, uri))) this.reader.resourceUpdated(uri);
  }

  missed(): void {
    this.reader.missed();
  }

  ended(fault: UpstreamError | undefined): void {
    if (fault !== undefined) {
      this.fail(fault);
      return;
    }
    this.hasEnded = true;
    if (!this.isOpening) void this.reopen();
  }

  private async reopen(): Promise<void> {
    this.release();
    this.quickLosses = performance.now() - this.openedAt < STABLE_MS ? this.quickLosses + 1 : 0;
    try {
      const isLost = this.quickLosses > MAX_QUICK_LOSSES || (await this.open()) === undefined;
      if (isLost) throw new UpstreamError('unreachable', 'The upstream has lost the session of the subscription.');
      if (!this.isStopped) this.reader.missed();
    } catch (error) {
      this.fail(toUpstreamError(error, 'the end of the subscription'));
    }
  }

  private fail(error: UpstreamError): void {
    if (!this.isStopped) this.reader.failed(error);
    this.stop();
  }

  private release(): void {
    const { listening, loan } = this;
    this.listening = undefined;
    this.loan = undefined;
    void listening?.stop().finally(() => loan?.giveBack());
  }
}

/** True if this is the resource or a part of it (MCP 2025-11-25, `ResourceUpdatedNotification`). */
export function isIn(subscribed: string, uri: string): boolean {
  return uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`);
}
