import {
  type FramePosition,
  EventStoreClosedError,
  isRetryable,
  StreamDivergedError,
  StreamExpiredError,
  type FrameBatch,
  type RunEventStore,
  type RunSignal,
  type RunTopic,
  type Unsubscribe,
} from './run-event-store.js';
import { retry } from '../../core/retry.js';
import { type SignalledRun, SignalInbox } from './signal-inbox.js';

const PAGE_FRAMES = 1024;
/** Without a signal for this time, a follower reads the store: its run may have been abandoned and expired. */
const IDLE_TIMEOUT_MS = 30_000;

export interface FollowOptions {
  /** The run is queued: wait while the store does not know it. If unset, an unknown run counts as expired. */
  readonly awaitStart?: boolean;
  /** Aborting makes the call reject with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * One reader of a topic: replays a run from the store and continues with live signals, without gaps or duplicates. Its
 * memory is bounded: it reads signalled frames that do not fit from the store later. Call `follow` and `nextRun` one at
 * a time.
 */
export class TopicReader {
  private readonly inbox = new SignalInbox();
  private unsubscribe: Unsubscribe | undefined;
  private wake: (() => void) | undefined;
  private closed = false;

  private constructor(
    private readonly store: RunEventStore,
    private readonly topic: RunTopic,
  ) {}

  /**
   * Subscribes. The reader receives every signal sent after this resolves.
   * @throws DomainError `storage_unavailable` if the store cannot be reached
   */
  static async open(store: RunEventStore, topic: RunTopic): Promise<TopicReader> {
    const reader = new TopicReader(store, topic);
    reader.unsubscribe = await store.subscribe(topic, (signal) => reader.receive(signal));
    return reader;
  }

  /**
   * The frames of a run after frame `after`, up to the run's end: first stored ones, then live ones. The last batch has
   * `end`. Retries while the store is unreachable.
   * @throws StreamExpiredError if the run is unknown or has expired
   * @throws StreamDivergedError if the store has lost frame `after` or a frame yielded since
   */
  async *follow(
    runId: string,
    after: FramePosition,
    options: FollowOptions = {},
  ): AsyncGenerator<FrameBatch, void, undefined> {
    const { awaitStart = false, signal } = options;
    this.inbox.follow(runId);
    try {
      let started = !awaitStart;
      let mustRead = true;
      for (let position = after; ;) {
        this.throwIfStopped(signal);
        let batch = this.inbox.next(runId, position);
        if (batch === 'wait' && !mustRead) {
          mustRead = !(await this.waitForSignal(signal, IDLE_TIMEOUT_MS));
          continue;
        }
        if (typeof batch === 'object') {
          mustRead = false;
        } else {
          const { known, diverged, more, ended: end, ...page } = await this.readStore(runId, position, signal);
          if (!known && started) {
            throw new StreamExpiredError(runId);
          }
          if (diverged) {
            throw new StreamDivergedError(runId);
          }
          mustRead = more;
          started ||= known;
          batch = { runId, end, ...page };
        }
        if (batch.frames.length > 0) {
          position = { n: position.n + batch.frames.length, epoch: batch.epoch };
        }
        if (batch.frames.length > 0 || batch.end) {
          yield batch;
        }
        if (batch.end) {
          return;
        }
      }
    } finally {
      this.inbox.unfollow(runId);
    }
  }

  /**
   * Waits for the first signal of a run for which `isHandled` is false. Its buffered frames are kept for `follow`.
   * @returns the run, or `resync` if signals may have been lost: then look up the active run in the database
   */
  async nextRun(isHandled: (runId: string) => boolean): Promise<SignalledRun | 'resync'> {
    for (;;) {
      this.throwIfStopped();
      if (this.inbox.takeRunsMissed()) {
        return 'resync';
      }
      const signalled = this.inbox.firstUnhandled(isHandled);
      if (signalled !== undefined) {
        return signalled;
      }
      await this.waitForSignal();
    }
  }

  /** Ends the subscription. Pending calls reject with `EventStoreClosedError`. */
  close(): void {
    this.closed = true;
    this.unsubscribe?.();
    this.wake?.();
  }

  private receive(signal: RunSignal): void {
    this.inbox.put(signal);
    this.wake?.();
  }

  private readStore(runId: string, after: FramePosition, signal: AbortSignal | undefined) {
    this.inbox.startReading(runId);
    return retry(() => this.store.read(this.topic, runId, after, PAGE_FRAMES), { isRetryable, signal });
  }

  private throwIfStopped(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.closed) {
      throw new EventStoreClosedError();
    }
  }

  /** Resolves with true at the next signal (of any run), abort or `close`, and with false on timeout. */
  private waitForSignal(signal?: AbortSignal, withinMs?: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (woken: boolean): void => {
        clearTimeout(timer);
        this.wake = undefined;
        signal?.removeEventListener('abort', wake);
        resolve(woken);
      };
      const wake = (): void => settle(true);
      const timer = withinMs && setTimeout(() => settle(false), withinMs);
      this.wake = wake;
      signal?.addEventListener('abort', wake);
    });
  }
}
