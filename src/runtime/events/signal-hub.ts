import { storageUnavailable } from '../../core/domain-error.js';
import { withTimeout } from '../../core/with-timeout.js';
import {
  EventStoreClosedError,
  type NoticeListener,
  type RunSignal,
  type RunSignalListener,
  type Unsubscribe,
} from './run-event-store.js';
import { decodeSignal } from './signal-codec.js';

/** The connection on which a process receives signals (LISTEN or SUBSCRIBE). */
export interface SignalLink {
  /**
   * Subscribes to and unsubscribes from channels; resolves when both have taken effect. If it rejects, the hub does not
   * use the link again: its owner must replace it.
   */
  apply(add: readonly string[], remove: readonly string[]): Promise<void>;
}

const CHANNELS_PER_ROUND = 500;
const SUBSCRIBE_WITHIN_MS = 2_000;

/**
 * Distributes the signals of a process's connection to its readers: tracks the listeners of each channel, keeps the
 * connection's subscriptions in line with them, and restores the subscriptions on a new connection.
 */
export class SignalHub {
  /** Arrays are replaced, never mutated. For thousands of idle readers, an array takes less memory than a set. */
  private readonly topics = new Map<string, readonly RunSignalListener[]>();
  private readonly noticeListeners = new Set<NoticeListener>();
  /** Channels that the current link is subscribed to, except those being unsubscribed. */
  private readonly subscribed = new Set<string>();
  /** Channels whose wanted and actual subscription may differ. */
  private readonly unreconciled = new Set<string>();
  private readonly waiting = new Map<string, PromiseWithResolvers<void>>();
  private link: SignalLink | undefined;
  private reconciling = false;
  private signalsMissed = false;
  private closed = false;

  constructor(
    private readonly noticeChannel: string,
    private readonly subscribeTimeoutMs = SUBSCRIBE_WITHIN_MS,
  ) {}

  /** Resolves when the listener receives all signals sent from then on. */
  async subscribe(channel: string, listener: RunSignalListener): Promise<Unsubscribe> {
    // Wrap the listener for each subscription: the same listener can subscribe twice.
    const own: RunSignalListener = (signal) => listener(signal);
    this.topics.set(channel, [...(this.topics.get(channel) ?? []), own]);
    const unsubscribe = (): void => this.remove(channel, own);
    try {
      await this.waitUntilSubscribed(channel);
    } catch (error) {
      unsubscribe();
      throw error;
    }
    return unsubscribe;
  }

  onNotice(listener: NoticeListener): Unsubscribe {
    const own: NoticeListener = (notice) => listener(notice);
    this.noticeListeners.add(own);
    this.requestReconcile(this.noticeChannel);
    return () => {
      this.noticeListeners.delete(own);
      this.requestReconcile(this.noticeChannel);
    };
  }

  /**
   * Starts using a new connection: restores all subscriptions, then sends readers a resync for signals they may have
   * missed.
   */
  attach(link: SignalLink): void {
    this.link = link;
    this.subscribed.clear();
    this.unreconciled.clear();
    this.topics.forEach((_, channel) => this.unreconciled.add(channel));
    this.requestReconcile(this.noticeChannel);
  }

  detach(): void {
    this.signalsMissed ||= this.link !== undefined;
    this.link = undefined;
    this.subscribed.clear();
  }

  receive(channel: string, payload: string): void {
    if (channel === this.noticeChannel) {
      this.noticeListeners.forEach((listener) => listener(payload));
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
    this.noticeListeners.clear();
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
      this.requestReconcile(channel);
    }
  }

  private isWanted(channel: string): boolean {
    return channel === this.noticeChannel ? this.noticeListeners.size > 0 : this.topics.has(channel);
  }

  private requestReconcile(channel: string): void {
    this.unreconciled.add(channel);
    void this.reconcile();
  }

  private async waitUntilSubscribed(channel: string): Promise<void> {
    if (this.closed) {
      throw new EventStoreClosedError();
    }
    if (this.subscribed.has(channel)) {
      return;
    }
    const subscription = this.waiting.get(channel) ?? Promise.withResolvers<void>();
    this.waiting.set(channel, subscription);
    this.requestReconcile(channel);
    await withTimeout(subscription.promise, this.subscribeTimeoutMs, () => {
      throw storageUnavailable();
    });
  }

  /** Applies the wanted subscriptions to the link, one round at a time. Runs once at a time and never rejects. */
  private async reconcile(): Promise<void> {
    if (this.reconciling) {
      return;
    }
    this.reconciling = true;
    for (let link = this.link; link && (this.unreconciled.size > 0 || this.signalsMissed); link = this.link) {
      if (this.unreconciled.size === 0) {
        this.signalsMissed = false;
        this.resync();
        continue;
      }
      const { add, remove } = this.nextRound();
      if (add.length + remove.length > 0) {
        await this.applyRound(link, add, remove);
      }
    }
    this.reconciling = false;
  }

  private async applyRound(link: SignalLink, add: readonly string[], remove: readonly string[]): Promise<void> {
    const applied = await link.apply(add, remove).then(
      () => true,
      () => false,
    );
    // The link may have been replaced in the meantime; a new link starts without subscriptions.
    if (this.link === link && applied) {
      add.forEach((channel) => this.markSubscribed(channel));
    } else if (this.link === link) {
      this.detach();
    }
  }

  private nextRound(): { add: string[]; remove: string[] } {
    const add: string[] = [];
    const remove: string[] = [];
    for (const channel of this.unreconciled) {
      this.unreconciled.delete(channel);
      if (this.isWanted(channel)) {
        if (!this.subscribed.has(channel)) {
          add.push(channel);
        }
      } else if (this.subscribed.delete(channel)) {
        remove.push(channel);
      }
      if (add.length + remove.length === CHANNELS_PER_ROUND) {
        break;
      }
    }
    return { add, remove };
  }

  private markSubscribed(channel: string): void {
    this.subscribed.add(channel);
    this.waiting.get(channel)?.resolve();
    this.waiting.delete(channel);
  }

  private resync(): void {
    const signal: RunSignal = { type: 'resync' };
    this.topics.forEach((listeners) => listeners.forEach((listener) => listener(signal)));
  }
}
