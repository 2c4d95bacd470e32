import type { FramePosition } from './frame-position.js';
import { EventStoreClosedError, isRetryable, StreamDivergedError, StreamExpiredError } from './run-event-errors.js';
import type { FrameBatch, RunEventStore, RunSignal, RunTopic, Unsubscribe } from './run-event-store.js';
import { retry } from '../common/retry.js';
import { type HeardRun, SignalInbox } from './signal-inbox.js';

const PAGE_FRAMES = 1024;
/** A follower that has heard nothing for so long looks into the store: its run may have been abandoned and expired. */
const SILENCE_MS = 30_000;

export interface FollowOptions {
  /** The run is queued: as long as the store does not know it, wait for it. Unless set, an unknown run has expired. */
  readonly awaitStart?: boolean;
  /** Aborting makes the call reject with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * One reader of a topic: replays a run from the store and goes on with the live signals, without gap or repeat. Memory
 * is bounded whatever arrives: what does not fit is read from the store later. One call of `follow` or `nextRun` at a time.
 */
export class TopicReader {
  private readonly inbox = new SignalInbox();
  private unsubscribe: Unsubscribe | undefined;
  private wake: (() => void) | undefined;
  private closed = false;

  private constructor(private readonly store: RunEventStore) {}

  /**
   * Subscribes; nothing that is signalled after it resolves is missed.
   * @throws DomainError `storage_unavailable` if the store cannot be reached
   */
  static async open(store: RunEventStore, topic: RunTopic): Promise<TopicReader> {
    const reader = new TopicReader(store);
    reader.unsubscribe = await store.subscribe(topic, (signal) => reader.receive(signal));
    return reader;
  }

  /**
   * The frames of a run that come after frame `after`, stored ones first, then live, up to the run's end: the last
   * batch has `end`. While the store cannot be reached it is tried again.
   * @throws StreamExpiredError if the store does not know the run (any more)
   * @throws StreamDivergedError if the store has lost frame `after`, or one that was yielded since
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
          mustRead = !(await this.signalled(signal, SILENCE_MS));
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
   * Waits for the first signal of a run for which `carried` is false. Frames of it that have arrived are kept for `follow`.
   * @returns the run, or `resync` when signals may have been lost: then the database knows what runs
   */
  async nextRun(carried: (runId: string) => boolean, signal?: AbortSignal): Promise<HeardRun | 'resync'> {
    for (;;) {
      this.throwIfStopped(signal);
      if (this.inbox.takeRunsMissed()) {
        return 'resync';
      }
      const heard = this.inbox.firstOther(carried);
      if (heard !== undefined) {
        return heard;
      }
      await this.signalled(signal);
    }
  }

  /** Ends the subscription; a call that waits rejects with `EventStoreClosedError`. */
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
    return retry(() => this.store.read(runId, after, PAGE_FRAMES), { isRetryable, signal });
  }

  private throwIfStopped(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (this.closed) {
      throw new EventStoreClosedError();
    }
  }

  /** Resolves with true at the next signal (of any run), at an abort or at `close`, with false when time is up. */
  private signalled(signal: AbortSignal | undefined, withinMs?: number): Promise<boolean> {
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
