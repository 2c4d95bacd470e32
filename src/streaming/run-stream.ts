import type { TopicReader } from '../events/topic-reader.js';
import { frameId, type StreamQuery } from './stream-query.js';

export const DONE_FRAME = 'data: [DONE]\n\n';

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

/** Finds the run that was posted to the thread next after this one. */
export type FindNextRun = (previousId: string | undefined) => Promise<CarriedRun | undefined>;

/** What a reader of a thread gets: the frames of one run, or with `follow` of every run from there on. */
export class RunStream {
  private readonly heard = new Set<string>();
  private carried: string | undefined;

  constructor(
    private readonly reader: TopicReader,
    private readonly query: StreamQuery,
    private readonly start: StreamStart,
    private readonly findNext: FindNextRun,
  ) {}

  /** The id of the run that is being carried right now; undefined while waiting for one. */
  get current(): string | undefined {
    return this.carried;
  }

  close(): void {
    this.reader.close();
  }

  /**
   * The frames as they go over the wire, joined by batch, each run closed by `[DONE]`.
   * @throws StreamExpiredError if a run leaves the live buffer while it is carried
   */
  async *frames(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    let run = this.start.run ?? (await this.waitForNext(this.start.previousId, signal));
    yield* this.framesOf(run, this.query.after, signal);
    while (this.query.follow) {
      run = await this.waitForNext(run.id, signal);
      yield* this.framesOf(run, 0, signal);
    }
  }

  private async *framesOf(
    run: CarriedRun,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    this.carried = run.id;
    const options = { awaitStart: run.mayBeUnstarted, signal };
    for await (const { first, frames, end } of this.reader.follow(run.id, after, options)) {
      const text = frames.map((frame, i) => `id: ${frameId(run.id, first + i)}\ndata: ${frame}\n\n`).join('');
      yield end ? text + DONE_FRAME : text;
    }
    this.carried = undefined;
  }

  /**
   * The run that was posted next, in the order of the thread. A signal that says which run it follows is believed; any other only
   * tells when to look: it may be the tail of the run before, or a later run that was cancelled while it waited.
   */
  private async waitForNext(previousId: string | undefined, signal: AbortSignal): Promise<CarriedRun> {
    for (;;) {
      const next = await this.findNext(previousId);
      if (next !== undefined) return next;
      const heard = await this.reader.nextRun((id) => this.heard.has(id), signal);
      if (heard === 'resync') continue;
      if (heard.follows === (previousId ?? null)) return { id: heard.runId, mayBeUnstarted: false };
      this.heard.add(heard.runId);
    }
  }
}
