import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UIMessageChunk } from 'ai';
import { retry } from '../../core/retry.js';
import {
  isRetryable,
  StaleWriterError,
  MAX_BATCH_BYTES,
  MAX_BATCH_FRAMES,
  type PreviousRun,
  type RunEventStore,
  type RunTopic,
  type StreamWriter,
} from './run-event-store.js';

const MAX_QUEUED_BYTES = 1024 * 1024;
const GIVE_UP_AFTER_MS = 30_000;

export interface PublisherOptions {
  /** Called once when another attempt has taken over the stream. This attempt must stop. */
  readonly onStale?: () => void;
  /** How long to retry while the store is unreachable, in milliseconds. Default: 30 s. */
  readonly giveUpAfterMs?: number;
}

interface QueuedFrame {
  readonly json: string;
  readonly bytes: number;
  /** Shows nothing on its own, so it is written with what follows. */
  canWait: boolean;
}

const DONE = Promise.resolve();

/**
 * Writes one attempt's chunks to the event store, in order. Writes a chunk at once while the store is idle, together
 * with what else comes in the same turn of the event loop; chunks pushed during a write form the next batch. A batch
 * costs as much as one chunk.
 *
 * After a permanent write failure, every later call rejects with its error: `StaleWriterError`, or the driver's error
 * once the store has been unreachable for `giveUpAfterMs`.
 */
export class RunEventPublisher {
  private readonly queue: QueuedFrame[] = [];
  private queuedBytes = 0;
  private ending = false;
  private endWritten = false;
  private writing: Promise<void> | undefined;
  private failure: Promise<never> | undefined;
  private drained: PromiseWithResolvers<void> | undefined;

  private constructor(
    private readonly store: RunEventStore,
    private readonly topic: RunTopic,
    private readonly runId: string,
    private readonly writer: StreamWriter,
    private nextFrame: number,
    private readonly options: PublisherOptions,
    /** Set until the first batch registers the stream. */
    private unstarted?: { readonly follows: PreviousRun },
  ) {}

  /**
   * Publishes to a new stream. The first write claims the stream, so this method does not call the store. If another
   * writer holds the stream, the first write fails.
   */
  static start(
    store: RunEventStore,
    topic: RunTopic,
    runId: string,
    writer: StreamWriter,
    follows: PreviousRun,
    options: PublisherOptions = {},
  ): RunEventPublisher {
    return new RunEventPublisher(store, topic, runId, writer, 1, options, { follows });
  }

  /**
   * Claims the run's stream for this attempt.
   * @throws StaleWriterError if a later attempt holds it
   */
  static async open(
    store: RunEventStore,
    topic: RunTopic,
    runId: string,
    writer: StreamWriter,
    options: PublisherOptions = {},
  ): Promise<RunEventPublisher> {
    const { giveUpAfterMs = GIVE_UP_AFTER_MS } = options;
    const nextFrame = await retry(() => store.open(topic, runId, writer), { isRetryable, giveUpAfterMs });
    return new RunEventPublisher(store, topic, runId, writer, nextFrame, options);
  }

  /** Appends a chunk. Resolves immediately, unless more than 1 MiB is queued: then it waits until the queue shrinks. */
  push(chunk: UIMessageChunk): Promise<void> {
    if (this.failure) {
      return this.failure;
    }
    if (this.ending) {
      return Promise.reject(new Error(`The stream of run ${this.runId} has ended`));
    }
    const json = JSON.stringify(chunk);
    const bytes = Buffer.byteLength(json);
    this.queue.push({ json, bytes, canWait: chunk.type === 'start-step' });
    this.queuedBytes += bytes;
    this.startWriting();
    if (this.queuedBytes <= MAX_QUEUED_BYTES) {
      return DONE;
    }
    this.drained ??= Promise.withResolvers();
    return this.drained.promise;
  }

  /** Resolves when everything pushed so far is stored. */
  async flush(): Promise<void> {
    for (const frame of this.queue) frame.canWait = false;
    this.startWriting();
    await this.writing;
    await this.failure;
  }

  /**
   * Signals that nothing follows for now: an empty batch. Call it after the last chunk; readers continue to wait.
   * @throws StaleWriterError if another writer continues already
   */
  async pause(): Promise<void> {
    await this.flush();
    const { fence, epoch } = this.writer;
    const batch = { runId: this.runId, epoch, first: this.nextFrame, frames: [], end: false };
    await this.store.append(this.topic, batch, fence);
  }

  /** Stores the remaining chunks and marks the run as ended. Later pushes are rejected. */
  async end(): Promise<void> {
    if (!this.failure) this.ending = true;
    await this.flush();
  }

  private startWriting(): void {
    if (this.isDue) this.writing ??= this.writeAll();
  }

  private get isDue(): boolean {
    return this.queue.some(({ canWait }) => !canWait) || (this.ending && !this.endWritten);
  }

  /** Writes batches until nothing is due. Never rejects: later callers get a stored failure. */
  private async writeAll(): Promise<void> {
    try {
      while (this.isDue) {
        // Readers wait for the first chunk of a stream and for its end, and nothing comes with them.
        if (this.unstarted === undefined && !this.ending) await nextTurn();
        await this.writeBatch();
      }
    } catch (error) {
      this.fail(error);
    }
    this.writing = undefined;
  }

  private async writeBatch(): Promise<void> {
    const { frames, bytes } = this.takeFrames();
    const end = this.ending && this.queue.length === 0;
    const { fence, epoch } = this.writer;
    const batch = { runId: this.runId, epoch, first: this.nextFrame, frames, end };
    const { giveUpAfterMs = GIVE_UP_AFTER_MS } = this.options;
    const { store, topic, unstarted } = this;
    const write = unstarted
      ? () => store.start(topic, batch, fence, unstarted.follows)
      : () => store.append(topic, batch, fence);
    await retry(write, { isRetryable, giveUpAfterMs });
    this.unstarted = undefined;
    this.nextFrame += frames.length;
    this.endWritten = end;
    this.queuedBytes -= bytes;
    if (this.queuedBytes <= MAX_QUEUED_BYTES) {
      this.drained?.resolve();
      this.drained = undefined;
    }
  }

  private takeFrames(): { frames: string[]; bytes: number } {
    let count = 0;
    let bytes = 0;
    for (const frame of this.queue) {
      if (count === MAX_BATCH_FRAMES || (count > 0 && bytes + frame.bytes > MAX_BATCH_BYTES)) {
        break;
      }
      count++;
      bytes += frame.bytes;
    }
    return { frames: this.queue.splice(0, count).map(({ json }) => json), bytes };
  }

  private fail(reason: unknown): void {
    this.failure = Promise.reject(reason);
    // The next caller gets the error. Without a current caller, the rejection would be unhandled.
    this.failure.catch(() => undefined);
    this.queue.length = 0;
    this.queuedBytes = 0;
    this.drained?.promise.catch(() => undefined);
    this.drained?.reject(reason);
    this.drained = undefined;
    if (reason instanceof StaleWriterError) {
      this.options.onStale?.();
    }
  }
}
