import type { FramePosition } from './frame-position.js';

/** The thread whose runs a reader follows. Thread ids are unique within their organization. */
export interface RunTopic {
  readonly organizationId: string;
  readonly threadId: string;
}

/** A run of consecutive frames of one writer, numbered from `first`. A frame is the JSON text of one AI SDK UI-message chunk. */
export interface FrameBatch {
  readonly runId: string;
  /** The writer's mark: it tells these frames from others that had the same numbers before the store lost them. */
  readonly epoch: string;
  readonly first: number;
  readonly frames: readonly string[];
  /** True when nothing follows these frames. `frames` may then be empty. */
  readonly end: boolean;
}

/** Who writes a stream: one claim of an attempt at its run. */
export interface StreamWriter {
  /** The attempt's number, from 1: a stream is never taken from a later attempt. */
  readonly fence: number;
  /** The claim's mark, since a claim that a crash takes back is made again with its number. */
  readonly epoch: string;
}

/** What the store holds of a run after a given frame. */
export interface FramePage {
  /** False when the run was never opened, or has expired. */
  readonly known: boolean;
  /** True when the stream holds another frame, or none, where the reader stands: it has frames that the store has lost. */
  readonly diverged: boolean;
  /** True when the run has ended and these frames reach its end. */
  readonly ended: boolean;
  /** True when frames beyond these are stored already. */
  readonly more: boolean;
  /** The number of the first frame, or of the frame that would be. */
  readonly first: number;
  /** Of the frames; they have all the same. */
  readonly epoch: string;
  readonly frames: readonly string[];
}

/** The run that was posted to a thread right before another one: its id, or null when there is none. */
export type PreviousRun = string | null;

/**
 * What a live reader hears. `batch`: frames as they were stored; the first frames of a run may say which run it follows on its
 * thread. `hint`: frames were stored that were too large to travel along; read them. `resync`: signals may have been lost; read
 * what is followed.
 */
export type RunSignal =
  | ({ readonly type: 'batch'; readonly follows?: PreviousRun } & FrameBatch)
  | { readonly type: 'hint'; readonly runId: string }
  | { readonly type: 'resync' };

export type RunSignalListener = (signal: RunSignal) => void;
export type CancelListener = (runId: string) => void;
export type Unsubscribe = () => void;

/** Bounds of one batch. A single frame may exceed the bytes; it then travels alone. */
export const MAX_BATCH_FRAMES = 256;
export const MAX_BATCH_BYTES = 64 * 1024;

/** About how many bytes of frames one `read` returns at most; a larger batch is returned alone. */
export const MAX_PAGE_BYTES = 256 * 1024;

/** How long streams stay readable, in milliseconds. */
export interface RunEventExpiry {
  /** After a run's end; 5 minutes unless told. */
  readonly retentionMs?: number;
  /** After the last write of a run that never ended; 6 hours unless told. */
  readonly abandonedMs?: number;
}

export const DEFAULT_EXPIRY: Required<RunEventExpiry> = { retentionMs: 300_000, abandonedMs: 6 * 3_600_000 };

/**
 * The live buffer between the worker that writes a run and the processes that stream it: frames numbered 1, 2, 3, …
 * without a gap, stored for minutes and signalled at once. It is not the system of record.
 *
 * Run ids are UUIDs in their canonical lower-case form. Every method rejects with `EventStoreClosedError` after
 * `close()`, and with the driver's error when the backend cannot be reached; all of them may then be repeated.
 */
export abstract class RunEventStore {
  /**
   * Registers a run's stream for one writer, or takes it over from another; a stream that had ended is open again. From now on
   * every other writer is refused.
   * @returns the next free frame number, 1 for a new stream
   * @throws StaleWriterError if a higher fence holds the stream
   */
  abstract open(runId: string, writer: StreamWriter): Promise<number>;

  /**
   * Registers a stream that nobody has written and stores its first batch, numbered from 1, in one step; the signal names the
   * run that it follows. Repeating the same call does nothing.
   * @throws StaleWriterError if the stream holds other frames or is held by another writer
   */
  abstract start(topic: RunTopic, batch: FrameBatch, fence: number, follows: PreviousRun): Promise<void>;

  /**
   * Stores one batch of at most `MAX_BATCH_FRAMES` frames as a whole and signals it to the topic's readers. Repeating the
   * same batch does nothing.
   * @throws StaleWriterError if the stream is held by another writer, has expired, or does not continue with `batch.first`
   */
  abstract append(topic: RunTopic, batch: FrameBatch, fence: number): Promise<void>;

  /** The frames that come after the reader's, oldest first: at most `maxFrames`, and at most about `MAX_PAGE_BYTES`. */
  abstract read(runId: string, after: FramePosition, maxFrames: number): Promise<FramePage>;

  /** Whether a run's stream is complete, so that every reader will reach its end. */
  abstract hasEnded(runId: string): Promise<boolean>;

  /**
   * Listens to every run of a topic; resolves when the subscription is in force.
   * @throws DomainError `storage_unavailable` if that takes more than 2 s
   */
  abstract subscribe(topic: RunTopic, listener: RunSignalListener): Promise<Unsubscribe>;

  /** Tells every process, this one included, that a run is to stop. Best effort: the database is the truth. */
  abstract announceCancel(runId: string): Promise<void>;

  /** Listens to cancellations; in force about one round trip later. */
  abstract onCancel(listener: CancelListener): Unsubscribe;

  abstract close(): Promise<void>;
}
