import { EventStoreClosedError, StreamDivergedError, StreamExpiredError } from '../events/run-event-store.js';
import type { TopicReader } from '../events/topic-reader.js';
import { NOTHING_READ, type ReaderPosition, RunFrames } from './run-frames.js';
import { type FrameForm, UiMessageForm } from './frame-form.js';
import type { StreamQuery } from './stream-query.js';

/** A worker ends the stream some milliseconds after the answer's last chunk. */
const END_AFTER_ANSWER_MS = 1_000;

/** A run to stream. */
export interface StreamedRun {
  id: string;
  /** Whether the run may not have streamed any frame yet. */
  mayBeUnstarted: boolean;
}

/** Where a stream begins: at a run or, on an idle thread, after the last finished run. */
export interface StreamStart {
  run: StreamedRun | undefined;
  previousId: string | undefined;
  /** The run is over, and the reader has all its frames. */
  isRead?: boolean;
  /**
   * The run that is streamed after the first one, if there is one by then: it has a message that the first did not
   * take.
   */
  heirId?: string | undefined;
}

/** The database queries of a stream. */
interface RunRecords {
  /** The run that was posted to the thread next after this one. */
  findNext(previousId: string | undefined): Promise<StreamedRun | undefined>;
  findRun(runId: string): Promise<StreamedRun | undefined>;
  /**
   * The frames that the reader lacks of a run that no worker streams now: the remaining ones, or those so far of a run
   * that waits. Undefined if the reader has to continue reading.
   */
  complete(runId: string, frames: RunFrames): Promise<StoredFrames | undefined>;
}

/** Frames from the transcript, in wire format. */
export interface StoredFrames {
  readonly text: string;
  /** False if the run continues later. */
  readonly isOver: boolean;
}

/** The frames that a reader of a thread gets: of one run, or with `follow` of that run and every later one. */
export class RunStream {
  /** Runs that were signaled while another one was next. Rarely needed, and idle streams are many. */
  private signaledRuns: Set<string> | undefined;
  private streamed: { id: string; unended: AbortController } | undefined;

  constructor(
    private readonly reader: TopicReader,
    private readonly query: StreamQuery,
    private readonly start: StreamStart,
    private readonly records: RunRecords,
  ) {}

  /** The id of the run that the stream begins with; undefined if it waits for the next one. */
  get firstRunId(): string | undefined {
    return this.start.run?.id;
  }

  /** The id of the run that is being streamed; undefined while waiting for one. */
  get current(): string | undefined {
    return this.streamed?.id;
  }

  /** Completes this run's stream from the transcript, because no worker will end it. */
  giveUpWaiting(runId: string): void {
    if (this.streamed?.id === runId) this.streamed.unended.abort(new StreamUnendedError());
  }

  /** Makes `frames` end with `EventStoreClosedError`. */
  close(): void {
    this.reader.close();
    this.streamed?.unended.abort(new EventStoreClosedError());
  }

  /** The frames in wire format, joined by batch; the end of its form closes each run. */
  async *frames(): AsyncGenerator<string, void, undefined> {
    let run = this.start.run ?? (await this.waitForNext(this.start.previousId));
    if (this.start.isRead) yield this.newForm(run.id).end();
    else yield* this.framesOf(run, this.query.after);
    const heir = this.start.heirId === undefined ? undefined : await this.records.findRun(this.start.heirId);
    if (heir !== undefined) yield* this.framesOf(heir, NOTHING_READ);
    while (this.query.follow) {
      run = await this.waitForNext(run.id);
      yield* this.framesOf(run, NOTHING_READ);
    }
  }

  private newForm(runId: string): FrameForm {
    return this.query.newForm?.(runId) ?? new UiMessageForm(this.query.aiVersion);
  }

  /** Reads the run's stream repeatedly, until it reaches the end or is completed from the transcript. */
  private async *framesOf(run: StreamedRun, after: ReaderPosition): AsyncGenerator<string, void, undefined> {
    const frames = new RunFrames(run.id, after, this.newForm(run.id));
    const opening = await frames.form.begin();
    if (opening !== '') yield opening;
    for (let mayBeUnstarted = run.mayBeUnstarted; ;) {
      try {
        yield* this.readTo(run.id, frames, mayBeUnstarted);
        break;
      } catch (error) {
        if (error instanceof StreamDivergedError) {
          yield frames.startOver();
          continue;
        }
        if (!(error instanceof StreamExpiredError || error instanceof StreamUnendedError)) throw error;
      }
      const stored = await this.records.complete(run.id, frames);
      if (stored?.isOver) {
        yield stored.text + (await frames.form.end());
        break;
      }
      if (stored !== undefined) yield stored.text;
      mayBeUnstarted = true;
    }
    this.streamed = undefined;
  }

  private async *readTo(
    runId: string,
    frames: RunFrames,
    awaitStart: boolean,
  ): AsyncGenerator<string, void, undefined> {
    const unended = new AbortController();
    this.streamed = { id: runId, unended };
    const options = { awaitStart, signal: unended.signal };
    let overdue: NodeJS.Timeout | undefined;
    try {
      for await (const batch of this.reader.follow(runId, frames.position, options)) {
        clearTimeout(overdue);
        const text = frames.take(batch);
        const isOver = batch.end || frames.form.isFull;
        yield isOver ? text + (await frames.form.end()) : text;
        if (isOver) return;
        if (frames.isAnswerClosed) overdue = setTimeout(() => this.giveUpWaiting(runId), END_AFTER_ANSWER_MS);
      }
    } finally {
      clearTimeout(overdue);
    }
  }

  /**
   * The run that was posted next, in the order of the thread. A signal that names the run it follows is trusted. Any
   * other signal only triggers a query: it can belong to the end of the previous run, or to a later run that was
   * cancelled while it waited.
   */
  private async waitForNext(previousId: string | undefined): Promise<StreamedRun> {
    for (;;) {
      const next = await this.records.findNext(previousId);
      if (next !== undefined) return next;
      const posted = await this.reader.nextRun((id) => this.signaledRuns?.has(id) === true);
      if (posted === 'resync') continue;
      if (posted.follows === (previousId ?? null)) return { id: posted.runId, mayBeUnstarted: false };
      this.signaledRuns = (this.signaledRuns ?? new Set()).add(posted.runId);
    }
  }
}

class StreamUnendedError extends Error {
  override readonly name = 'StreamUnendedError';
}
