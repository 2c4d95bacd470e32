import { DomainError } from '../../../core/domain-error.js';
import { isIn } from '../../../upstreams/channels/upstream-subscription.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { BegunSubscription, ChangeSubscriptions } from './change-subscriptions.js';

/** The delay between two attempts to subscribe again. */
const RETRY_MS = 5_000;

/** Where resources of one connection are subscribed to. */
export interface SubscribedPlace {
  /** The client as a caller of the connection as it is now. */
  readonly caller: ProxyCaller;
  /** In whose session with the upstream; absent: the shared one. */
  readonly owner?: StateOwner | undefined;
}

/**
 * Called with a resource that has changed, or a part of it, and the subscribed one, both by the client's addresses. A
 * part of a resource that the client knows by another address is not named.
 */
type OnUpdate = (uri: string, subscribed: string) => void;

/**
 * The resources of one connection that a client has subscribed to. The subscription with the upstream exists while the
 * client listens. It is replaced when the resources change, and opened again when it is lost: all of them then count as
 * changed.
 */
export class WatchedResources {
  /** The client's addresses, by the upstream's. */
  private addresses: ReadonlyMap<string, string> = new Map();
  private current: BegunSubscription | undefined;
  private state: 'listening' | 'paused' | 'ended' = 'paused';
  /** Those that have ended, which can be before they are used. */
  private readonly failed = new WeakSet<BegunSubscription>();
  private turn: Promise<unknown> = Promise.resolve();
  private retry: NodeJS.Timeout | undefined;
  private release: (() => void) | undefined;
  private held = 0;
  private waiting = 0;

  /**
   * @param find resolves with undefined if the client is not permitted to use the resources of the connection any more
   */
  constructor(
    private readonly subscriptions: ChangeSubscriptions,
    private readonly find: () => Promise<SubscribedPlace | undefined>,
    private readonly onUpdate: OnUpdate,
  ) {}

  /** True if nothing is subscribed to, or about to be. */
  get isIdle(): boolean {
    return this.addresses.size === 0 && this.waiting === 0;
  }

  /**
   * Subscribes to more resources. Returns the upstream's addresses of those that it has accepted.
   * @param added the client's addresses, by the upstream's
   * @throws DomainError `permission_denied`, `connection_unavailable`; UpstreamError
   */
  add(added: ReadonlyMap<string, string>, signal: AbortSignal): Promise<readonly string[]> {
    return this.inTurn(async () => {
      const before = this.addresses;
      const place = await this.place();
      const wanted = new Map([...before, ...added]);
      this.claim(place, wanted.size);
      // An update can follow the acknowledgement at once.
      this.addresses = wanted;
      let accepted: readonly string[] = [];
      try {
        // While the client does not listen, this only finds out what the upstream accepts.
        const isProbe = this.state !== 'listening';
        const begun = this.begin(place, [...(isProbe ? added : wanted).keys()], signal);
        accepted = await this.settled(begun);
        // Without any of them, the subscription that exists is as good.
        if (isProbe || ![...added.keys()].some((uri) => accepted.includes(uri) && !before.has(uri))) begun.stop();
        else this.replaceBy(begun, before);
        return accepted.filter((uri) => added.has(uri));
      } finally {
        const kept = [...added].filter(([uri]) => accepted.includes(uri));
        if (this.state !== 'ended') {
          this.addresses = new Map([...before, ...kept]);
          this.claim(place, this.addresses.size);
        }
      }
    });
  }

  /** Ends the subscription to a resource. Never rejects. @param address the client's */
  remove(address: string): Promise<void> {
    return this.inTurn(async () => {
      const left = [...this.addresses].filter(([, other]) => other !== address);
      if (left.length === this.addresses.size) return;
      this.addresses = new Map(left);
      if (this.addresses.size === 0) {
        this.stop();
        this.giveBack();
        return;
      }
      // If that fails, the upstream still reports the resource, and nothing passes it on.
      if (this.current !== undefined) await this.open().catch(() => undefined);
    });
  }

  /** Call when the client begins to listen. */
  listen(): void {
    if (this.state === 'paused') this.state = 'listening';
    this.resume();
  }

  /** Call when the client does not listen any more. */
  pause(): void {
    if (this.state === 'listening') this.state = 'paused';
    this.stop();
  }

  end(): void {
    this.state = 'ended';
    this.addresses = new Map();
    this.stop();
    this.giveBack();
  }

  private resume(): void {
    void this.inTurn(async () => {
      if (this.current !== undefined || this.addresses.size === 0 || this.state !== 'listening') return;
      await this.open();
    }).catch(() => this.retryLater());
  }

  /** Subscribes to all resources. @throws UpstreamError also if the upstream accepts none any more */
  private async open(): Promise<void> {
    const place = await this.place();
    this.claim(place, this.addresses.size);
    const begun = this.begin(place, [...this.addresses.keys()]);
    if ((await this.settled(begun)).length === 0) {
      begun.stop();
      throw new UpstreamError('protocol', 'The upstream accepts no subscription any more.');
    }
    this.replaceBy(begun, this.addresses);
  }

  private begin({ caller, owner }: SubscribedPlace, uris: readonly string[], signal?: AbortSignal): BegunSubscription {
    const reader = {
      listChanged: () => undefined,
      resourceUpdated: (uri: string) => this.updated(uri),
      missed: () => this.report(this.addresses),
      failed: () => {
        this.failed.add(begun);
        if (this.current !== begun) return;
        this.stop();
        this.retryLater();
      },
    };
    const begun = this.subscriptions.begin(reader, { kinds: [], uris }, caller, { signal, owner });
    return begun;
  }

  private async settled(begun: BegunSubscription): Promise<readonly string[]> {
    try {
      return (await begun.opened) ?? [];
    } catch (error) {
      begun.stop();
      throw error;
    }
  }

  /** @param before what was subscribed to: if the upstream was not, its changes may have been missed */
  private replaceBy(begun: BegunSubscription, before: ReadonlyMap<string, string>): void {
    const wasLost = this.current === undefined;
    this.stop();
    if (this.state !== 'listening' || this.failed.has(begun)) {
      begun.stop();
      this.retryLater();
      return;
    }
    this.current = begun;
    if (wasLost) this.report(before);
  }

  private report(addresses: ReadonlyMap<string, string>): void {
    for (const address of addresses.values()) this.onUpdate(address, address);
  }

  private stop(): void {
    clearTimeout(this.retry);
    this.current?.stop();
    this.current = undefined;
  }

  private retryLater(): void {
    if (this.state !== 'listening') return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.resume(), RETRY_MS).unref();
  }

  private updated(uri: string): void {
    const own = this.addresses.has(uri) ? uri : [...this.addresses.keys()].find((one) => isIn(one, uri));
    const address = own && this.addresses.get(own);
    if (address !== undefined) this.onUpdate(own === address ? uri : address, address);
  }

  private async place(): Promise<SubscribedPlace> {
    const place = await this.find();
    if (place !== undefined) return place;
    throw new DomainError('permission_denied', 'The caller is not permitted to use the resources of this connection.');
  }

  /** Counts the resources in place of those before. @throws UpstreamError `busy` */
  private claim({ caller }: SubscribedPlace, resources: number): void {
    if (this.state === 'ended') throw new DomainError('session_not_found', 'The session has ended.');
    const { held } = this;
    this.giveBack();
    try {
      this.take(caller, resources);
    } catch (error) {
      this.take(caller, held);
      throw error;
    }
  }

  private take(caller: ProxyCaller, resources: number): void {
    if (resources > 0) this.release = this.subscriptions.hold(caller, resources);
    this.held = resources;
  }

  private giveBack(): void {
    this.release?.();
    this.release = undefined;
    this.held = 0;
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.waiting++;
    const result = this.turn.then(work).finally(() => this.waiting--);
    this.turn = result.catch(() => undefined);
    return result;
  }
}
