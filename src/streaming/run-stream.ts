import { StreamDivergedError, StreamExpiredError } from '../events/run-event-errors.js';
import type { TopicReader } from '../events/topic-reader.js';
import { NOTHING_READ, type ReaderPosition } from './reader-position.js';
import { RunFrames } from './run-frames.js';
import type { StreamQuery } from './stream-query.js';

const DONE_FRAME = 'data: [DONE]\n\n';
/** A worker ends the stream some milliseconds after the answer's last chunk. */
const END_AFTER_ANSWER_MS = 1_000;

/** A run to be carried. */
export interface CarriedRun {
  id: string;
  /** It may not have streamed anything yet. */
  mayBeUnstarted: boolean;
}

/** Where a stream begins: with a run, or, on an idle thread, after the last run that is over. */
export interface StreamStart {
  run: CarriedRun | undefined;
  previousId: string | undefined;
}

/** What a stream asks the database. */
export interface RunRecords {
  /** The run that was posted to the thread next after this one. */
  findNext(previousId: string | undefined): Promise<CarriedRun | undefined>;
  /** What the reader still gets of a run whose stream nobody else will end; undefined if it has to go on reading. */
  complete(runId: string, frames: RunFrames): Promise<string | undefined>;
}

/** What a reader of a thread gets: the frames of one run, or with `follow` of every run from there on. */
export class RunStream {
  private readonly heard = new Set<string>();
  private carried: { id: string; unended: AbortController } | undefined;

  constructor(
    private readonly reader: TopicReader,
    private readonly query: StreamQuery,
    private readonly start: StreamStart,
    private readonly records: RunRecords,
  ) {}

  /** The id of the run that is being carried right now; undefined while waiting for one. */
  get current(): string | undefined {
    return this.carried?.id;
  }

  /** Nobody will end the stream of this run: it is completed from what is stored. */
  giveUpWaiting(runId: string): void {
    if (this.carried?.id === runId) this.carried.unended.abort(new StreamUnendedError());
  }

  close(): void {
    this.reader.close();
  }

  /** The frames as they go over the wire, joined by batch, each run closed by `[DONE]`. */
  async *frames(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    let run = this.start.run ?? (await this.waitForNext(this.start.previousId, signal));
    yield* this.framesOf(run, this.query.after, signal);
    while (this.query.follow) {
      run = await this.waitForNext(run.id, signal);
      yield* this.framesOf(run, NOTHING_READ, signal);
    }
  }

  /** Reads the run's stream as often as it takes, until its end has been read or it is completed from what is stored. */
  private async *framesOf(
    run: CarriedRun,
    after: ReaderPosition,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    const frames = new RunFrames(run.id, after);
    for (let mayBeUnstarted = run.mayBeUnstarted; ;) {
      try {
        yield* this.readTo(run.id, frames, mayBeUnstarted, signal);
        break;
      } catch (error) {
        if (error instanceof StreamDivergedError) {
          yield frames.startOver();
          continue;
        }
        if (!(error instanceof StreamExpiredError || error instanceof StreamUnendedError)) throw error;
      }
      const rest = await this.records.complete(run.id, frames);
      if (rest !== undefined) {
        yield rest + DONE_FRAME;
        break;
      }
      mayBeUnstarted = true;
    }
    this.carried = undefined;
  }

  private async *readTo(
    runId: string,
    frames: RunFrames,
    awaitStart: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    const unended = new AbortController();
    this.carried = { id: runId, unended };
    const options = { awaitStart, signal: AbortSignal.any([signal, unended.signal]) };
    let overdue: NodeJS.Timeout | undefined;
    try {
      for await (const batch of this.reader.follow(runId, frames.position, options)) {
        clearTimeout(overdue);
        const text = frames.take(batch);
        yield batch.end ? text + DONE_FRAME : text;
        if (frames.isAnswerClosed) overdue = setTimeout(() => this.giveUpWaiting(runId), END_AFTER_ANSWER_MS);
      }
    } finally {
      clearTimeout(overdue);
    }
  }

  /**
   * The run that was posted next, in the order of the thread. A signal that says which run it follows is believed; any other only
   * tells when to look: it may be the tail of the run before, or a later run that was cancelled while it waited.
   */
  private async waitForNext(previousId: string | undefined, signal: AbortSignal): Promise<CarriedRun> {
    for (;;) {
      const next = await this.records.findNext(previousId);
      if (next !== undefined) return next;
      const heard = await this.reader.nextRun((id) => this.heard.has(id), signal);
      if (heard === 'resync') continue;
      if (heard.follows === (previousId ?? null)) return { id: heard.runId, mayBeUnstarted: false };
      this.heard.add(heard.runId);
    }
  }
}

class StreamUnendedError extends Error {
  override readonly name = 'StreamUnendedError';
}
