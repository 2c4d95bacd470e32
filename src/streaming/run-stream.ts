import { StreamExpiredError } from '../events/run-event-errors.js';
import type { RunTopic } from '../events/run-event-store.js';
import type { TopicReader } from '../events/topic-reader.js';
import type { RunEntity } from '../threads/run.entity.js';
import type { RunReaderService } from '../threads/run-reader.service.js';
import { frameId, type StreamQuery } from './stream-query.js';

export const DONE_FRAME = 'data: [DONE]\n\n';

/** A run to be carried. */
export interface CarriedRun {
  id: string;
  /** It may not have streamed anything yet. */
  mayBeUnstarted: boolean;
}

/** What a reader of a thread gets: the frames of one run, or with `follow` of every run from there on. */
export class RunStream {
  private readonly seen = new Set<string>();
  private carried: string | undefined;
  private carrying = false;

  constructor(
    private readonly reader: TopicReader,
    private readonly runs: RunReaderService,
    private readonly thread: RunTopic,
    private readonly query: StreamQuery,
    private readonly first: CarriedRun | undefined,
  ) {}

  /** The id of the run that is being carried right now; undefined while waiting for one. */
  get current(): string | undefined {
    return this.carrying ? this.carried : undefined;
  }

  /** The run that was asked for is over, so its frames may be gone. */
  get mayHaveExpired(): boolean {
    return this.first !== undefined && !this.first.mayBeUnstarted;
  }

  close(): void {
    this.reader.close();
  }

  /**
   * The frames as they go over the wire, joined by batch, each run closed by `[DONE]`.
   * @throws StreamExpiredError before the first frame, if the run that was asked for is no longer in the live buffer
   */
  async *frames(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    yield* this.framesOf(this.first ?? (await this.waitForFirst(signal)), this.query.after, signal);
    while (this.query.follow) {
      const next = await this.waitForNext(signal);
      try {
        yield* this.framesOf(next, 0, signal);
      } catch (error) {
        // A later run that has expired meanwhile is passed over; the one that was asked for is an answer of its own.
        if (!(error instanceof StreamExpiredError)) throw error;
      }
    }
  }

  private async *framesOf(
    run: CarriedRun,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    this.carried = run.id;
    this.carrying = true;
    this.seen.add(run.id);
    const options = { awaitStart: run.mayBeUnstarted, signal };
    for await (const { first, frames, end } of this.reader.follow(run.id, after, options)) {
      const text = frames.map((frame, i) => `id: ${frameId(run.id, first + i)}\ndata: ${frame}\n\n`).join('');
      this.carrying = !end;
      yield end ? text + DONE_FRAME : text;
    }
  }

  /** On an idle thread: the first run that is heard of. It is not looked up, because its first frame is here already. */
  private async waitForFirst(signal: AbortSignal): Promise<CarriedRun> {
    for (;;) {
      const heard = await this.reader.nextRun((runId) => this.seen.has(runId), signal);
      if (heard !== 'resync') return { id: heard, mayBeUnstarted: true };
      const current = await this.runs.findCurrent(this.thread.organizationId, this.thread.threadId);
      if (current !== null) return { id: current.id, mayBeUnstarted: true };
    }
  }

  /** The run that was posted after the one that was carried last, in the order of the thread. */
  private async waitForNext(signal: AbortSignal): Promise<CarriedRun> {
    for (;;) {
      const next = await this.runs.findAfter(this.thread, this.carried ?? '');
      if (next !== null) return { id: next.id, mayBeUnstarted: isOpen(next) };
      const heard = await this.reader.nextRun((runId) => this.seen.has(runId), signal);
      this.seen.add(heard);
    }
  }
}

/** Is the run still to be executed, or being executed? */
export function isOpen({ status }: RunEntity): boolean {
  return status === 'queued' || status === 'running';
}
