import { storageUnavailable } from '../common/storage-unavailable.js';
import { withTimeout } from '../common/with-timeout.js';
import { EventStoreClosedError } from './run-event-errors.js';
import type { CancelListener, RunSignal, RunSignalListener, Unsubscribe } from './run-event-store.js';
import { decodeSignal } from './signal-codec.js';

/** The one connection of a process on which signals arrive (LISTEN or SUBSCRIBE). */
export interface SignalLink {
  /**
   * Subscribes to and unsubscribes from channels; resolves when that is in force. If it rejects, the link is not used
   * again: its owner must replace it.
   */
  apply(add: readonly string[], remove: readonly string[]): Promise<void>;
}

const CHANNELS_PER_ROUND = 500;
const SUBSCRIBE_WITHIN_MS = 2_000;

/**
 * Fans the signals of a process's one connection out to its readers: counts who listens to which channel, keeps the
 * connection's subscriptions equal to that, and restores them on a new connection.
 */
export class SignalHub {
  /** Lists that are replaced, never changed: thousands of idle readers are kept, and a list is smaller than a set. */
  private readonly topics = new Map<string, readonly RunSignalListener[]>();
  private readonly cancelListeners = new Set<CancelListener>();
  /** Channels that the present link is subscribed to, those on their way out excepted. */
  private readonly inForce = new Set<string>();
  /** Channels for which what is wanted and what is in force may differ. */
  private readonly unsettled = new Set<string>();
  private readonly waiting = new Map<string, PromiseWithResolvers<void>>();
  private link: SignalLink | undefined;
  private settling = false;
  private signalsMissed = false;
  private closed = false;

  constructor(
    private readonly cancelChannel: string,
    private readonly subscribeTimeoutMs = SUBSCRIBE_WITHIN_MS,
  ) {}

  /** Resolves when signals that are sent from now on reach the listener. */
  async subscribe(channel: string, listener: RunSignalListener): Promise<Unsubscribe> {
    // A function of its own for each subscription: the same listener may be subscribed twice.
    const own: RunSignalListener = (signal) => listener(signal);
    this.topics.set(channel, [...(this.topics.get(channel) ?? []), own]);
    const unsubscribe = (): void => this.remove(channel, own);
    try {
      await this.untilInForce(channel);
    } catch (error) {
      unsubscribe();
      throw error;
    }
    return unsubscribe;
  }

  onCancel(listener: CancelListener): Unsubscribe {
    const own: CancelListener = (runId) => listener(runId);
    this.cancelListeners.add(own);
    this.reconsider(this.cancelChannel);
    return () => {
      this.cancelListeners.delete(own);
      this.reconsider(this.cancelChannel);
    };
  }

  /** Puts a fresh connection to use: everything wanted is subscribed to, then readers are told what they may have missed. */
  attach(link: SignalLink): void {
    this.link = link;
    this.inForce.clear();
    this.unsettled.clear();
    this.topics.forEach((_, channel) => this.unsettled.add(channel));
    this.reconsider(this.cancelChannel);
  }

  detach(): void {
    this.signalsMissed ||= this.link !== undefined;
    this.link = undefined;
    this.inForce.clear();
  }

  receive(channel: string, payload: string): void {
    if (channel === this.cancelChannel) {
      this.cancelListeners.forEach((listener) => listener(payload));
      return;
    }
    const listeners = this.topics.get(channel);
    if (listeners) {
      const signal = decodeSignal(payload);
      listeners.forEach((listener) => listener(signal));
    }
  }

  close(): void {
    this.closed = true;
    this.link = undefined;
    this.topics.clear();
    this.cancelListeners.clear();
    this.waiting.forEach(({ reject }) => reject(new EventStoreClosedError()));
    this.waiting.clear();
  }

  private remove(channel: string, listener: RunSignalListener): void {
    const listeners = this.topics.get(channel) ?? [];
    const left = listeners.filter((one) => one !== listener);
    if (left.length > 0) {
      this.topics.set(channel, left);
    } else if (listeners.length > 0) {
      this.topics.delete(channel);
      this.waiting.delete(channel);
      this.reconsider(channel);
    }
  }

  private isWanted(channel: string): boolean {
    return channel === this.cancelChannel ? this.cancelListeners.size > 0 : this.topics.has(channel);
  }

  private reconsider(channel: string): void {
    this.unsettled.add(channel);
    void this.settle();
  }

  private async untilInForce(channel: string): Promise<void> {
    if (this.closed) {
      throw new EventStoreClosedError();
    }
    if (this.inForce.has(channel)) {
      return;
    }
    const arrival = this.waiting.get(channel) ?? Promise.withResolvers<void>();
    this.waiting.set(channel, arrival);
    this.reconsider(channel);
    await withTimeout(arrival.promise, this.subscribeTimeoutMs, () => {
      throw storageUnavailable();
    });
  }

  /** Brings the link in line with what is wanted, one round after the other. Never two at a time, and it never rejects. */
  private async settle(): Promise<void> {
    if (this.settling) {
      return;
    }
    this.settling = true;
    for (let link = this.link; link && (this.unsettled.size > 0 || this.signalsMissed); link = this.link) {
      if (this.unsettled.size === 0) {
        this.signalsMissed = false;
        this.resync();
        continue;
      }
      const { add, remove } = this.nextRound();
      if (add.length + remove.length > 0) {
        await this.applyRound(link, add, remove);
      }
    }
    this.settling = false;
  }

  private async applyRound(link: SignalLink, add: readonly string[], remove: readonly string[]): Promise<void> {
    const applied = await link.apply(add, remove).then(
      () => true,
      () => false,
    );
    // Meanwhile the link may have been replaced; the new one starts from nothing.
    if (this.link === link && applied) {
      add.forEach((channel) => this.markInForce(channel));
    } else if (this.link === link) {
      this.detach();
    }
  }

  private nextRound(): { add: string[]; remove: string[] } {
    const add: string[] = [];
    const remove: string[] = [];
    for (const channel of this.unsettled) {
      this.unsettled.delete(channel);
      if (this.isWanted(channel)) {
        if (!this.inForce.has(channel)) {
          add.push(channel);
        }
      } else if (this.inForce.delete(channel)) {
        remove.push(channel);
      }
      if (add.length + remove.length === CHANNELS_PER_ROUND) {
        break;
      }
    }
    return { add, remove };
  }

  private markInForce(channel: string): void {
    this.inForce.add(channel);
    this.waiting.get(channel)?.resolve();
    this.waiting.delete(channel);
  }

  private resync(): void {
    const signal: RunSignal = { type: 'resync' };
    this.topics.forEach((listeners) => listeners.forEach((listener) => listener(signal)));
  }
}
