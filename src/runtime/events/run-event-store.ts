import { DomainError } from '../../core/domain-error.js';

/**
 * A frame as one reader knows it. Frames are numbered within their stream. A stream that has lost its tail assigns a
 * number twice, so only number and writer epoch together identify a frame.
 */
export interface FramePosition {
  /** 0 before the first frame. */
  readonly n: number;
  /** Epoch of the writer of frame `n`; `''` before the first frame. */
  readonly epoch: string;
}

/** Before the first frame of any stream. */
export const STREAM_START: FramePosition = { n: 0, epoch: '' };

/** The thread whose runs a reader follows. Thread ids are unique within their organization. */
export interface RunTopic {
  readonly organizationId: string;
  readonly threadId: string;
}

/**
 * A run of consecutive frames of one writer, numbered from `first`. A frame is the JSON text of one AI SDK UI-message
 * chunk.
 */
export interface FrameBatch {
  readonly runId: string;
  /** Identifies the writer. Distinguishes these frames from lost ones that had the same numbers. */
  readonly epoch: string;
  readonly first: number;
  readonly frames: readonly string[];
  /** True when nothing follows these frames. `frames` may then be empty. */
  readonly end: boolean;
}

/** The writer of a stream: one claim of an attempt at its run. */
export interface StreamWriter {
  /** The attempt's number, from 1. A writer cannot take over the stream of a later attempt. */
  readonly fence: number;
  /** Identifies the claim: after a crash rolls a claim back, the next claim has the same number. */
  readonly epoch: string;
}

/** The stored frames of a run after a given frame. */
export interface FramePage {
  /** False if the run was never opened or has expired. */
  readonly known: boolean;
  /**
   * True if the stored stream has no frame, or a different one, at the reader's position: the store has lost frames.
   */
  readonly diverged: boolean;
  /** True when the run has ended and these frames reach its end. */
  readonly ended: boolean;
  /** True if more frames are stored. */
  readonly more: boolean;
  /** The number of the first frame, or of the next frame if `frames` is empty. */
  readonly first: number;
  /** The epoch of all frames. */
  readonly epoch: string;
  readonly frames: readonly string[];
}

/** The id of the run that was posted to a thread immediately before another one; null for the first run. */
export type PreviousRun = string | null;

/**
 * A signal to a live reader. `batch`: stored frames; the first frames of a run can name the run before it on its
 * thread. `hint`: frames too large for a signal were stored; read them. `resync`: signals may have been lost; read the
 * followed run.
 */
export type RunSignal =
  | ({ readonly type: 'batch'; readonly follows?: PreviousRun } & FrameBatch)
  | { readonly type: 'hint'; readonly runId: string }
  | { readonly type: 'resync' };

export type RunSignalListener = (signal: RunSignal) => void;
/** Called with a `RunNotice` in its wire form. */
export type NoticeListener = (notice: string) => void;
export type Unsubscribe = () => void;

/** Limits of one batch. A frame larger than the byte limit forms its own batch. */
export const MAX_BATCH_FRAMES = 256;
export const MAX_BATCH_BYTES = 64 * 1024;

/** Approximate byte limit for the frames that one `read` returns. A larger batch is returned alone. */
export const MAX_PAGE_BYTES = 256 * 1024;

/** How long streams stay readable, in milliseconds. */
export interface RunEventExpiry {
  /** After a run's end. Default: 5 minutes. */
  readonly retentionMs?: number;
  /** After the last write of a run that never ended. Default: 6 hours. */
  readonly abandonedMs?: number;
}

/** How long a stream stays readable after a write, in milliseconds. */
export function lifetimeOf(
  { retentionMs = 300_000, abandonedMs = 6 * 3_600_000 }: RunEventExpiry,
  end: boolean,
): number {
  return end ? retentionMs : abandonedMs;
}

/**
 * The live buffer between the worker that writes a run and the processes that stream it. Frames are numbered 1, 2, 3, …
 * without a gap, stored for minutes and signalled immediately. It is not the system of record.
 *
 * Run ids are UUIDs in their canonical lower-case form. Every method rejects with `EventStoreClosedError` after
 * `close()`, and with the driver's error when the backend is unreachable; the caller can retry after the latter.
 */
export abstract class RunEventStore {
  /**
   * Registers a run's stream for one writer, or takes it over from another. Reopens an ended stream. Rejects all other
   * writers from then on.
   * @returns the next free frame number, 1 for a new stream
   * @throws StaleWriterError if a higher fence holds the stream
   */
  abstract open(topic: RunTopic, runId: string, writer: StreamWriter): Promise<number>;

  /**
   * Registers a new stream and stores its first batch, numbered from 1, in one step. The signal names the preceding
   * run. Repeating the same call does nothing.
   * @throws StaleWriterError if the stream contains other frames or belongs to another writer
   */
  abstract start(topic: RunTopic, batch: FrameBatch, fence: number, follows: PreviousRun): Promise<void>;

  /**
   * Stores one batch of at most `MAX_BATCH_FRAMES` frames atomically and signals it to the topic's readers. Repeating
   * the same batch does nothing.
   * @throws StaleWriterError if the stream belongs to another writer, has expired, or does not continue with
   *   `batch.first`
   */
  abstract append(topic: RunTopic, batch: FrameBatch, fence: number): Promise<void>;

  /** The frames after the reader's position, oldest first: at most `maxFrames`, and about `MAX_PAGE_BYTES`. */
  abstract read(topic: RunTopic, runId: string, after: FramePosition, maxFrames: number): Promise<FramePage>;

  /** Whether a run's stream is complete, so that every reader reaches its end. */
  abstract hasEnded(topic: RunTopic, runId: string): Promise<boolean>;

  /**
   * Subscribes to every run of a topic; resolves when the subscription is active.
   * @throws DomainError `storage_unavailable` if that takes more than 2 s
   */
  abstract subscribe(topic: RunTopic, listener: RunSignalListener): Promise<Unsubscribe>;

  /**
   * Broadcasts a notice about a run to every process, including this one. Best effort: the database is authoritative.
   */
  abstract announce(notice: string): Promise<void>;

  /** Subscribes to notices. The subscription becomes active about one round trip later. */
  abstract onNotice(listener: NoticeListener): Unsubscribe;

  abstract close(): Promise<void>;
}

/** The writer must stop: another attempt holds the run's stream, or the stream no longer exists. */
export class StaleWriterError extends Error {
  override readonly name = 'StaleWriterError';

  constructor(readonly runId: string) {
    super(`This writer no longer holds the stream of run ${runId}`);
  }
}

/** The frames of a run have expired. Its messages remain in the transcript. */
export class StreamExpiredError extends DomainError {
  override readonly name = 'StreamExpiredError';

  constructor(readonly runId: string) {
    super('stream_expired');
  }
}

/** The reader has frames that the store has lost, so the stored frames do not continue the reader's position. */
export class StreamDivergedError extends Error {
  override readonly name = 'StreamDivergedError';

  constructor(readonly runId: string) {
    super(`The stream of run ${runId} does not contain the frames that the reader has already received`);
  }
}

/** The process is shutting down. Do not retry the call. */
export class EventStoreClosedError extends Error {
  override readonly name = 'EventStoreClosedError';

  constructor() {
    super('The run event store is closed');
  }
}

/** True if repeating the call of the event store can succeed. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof StaleWriterError) && !(error instanceof EventStoreClosedError);
}

/** The loggable part of a driver's error: its code or name. Messages could contain parts of a connection string. */
export function errorName(error: unknown): string {
  if (error instanceof Error) {
    return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  }
  return 'unknown error';
}
