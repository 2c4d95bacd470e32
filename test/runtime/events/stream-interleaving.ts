import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { DomainError } from '../../../src/core/domain-error.js';
import {
  type FramePosition,
  STREAM_START,
  StaleWriterError,
  StreamDivergedError,
  StreamExpiredError,
  type RunEventStore,
  type RunTopic,
} from '../../../src/runtime/events/run-event-store.js';
import { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import { TopicReader } from '../../../src/runtime/events/topic-reader.js';
import type { EventStoreBackend } from '../../support/event-store-fixtures.js';
import { newRun } from '../../support/run-event-probes.js';

/** What happens to a run's stream, in this order; readers and writes under way overlap with it. */
export type Step =
  /** The current writer publishes this many chunks and does not wait for them. */
  | { readonly do: 'write'; readonly chunks: number; readonly size: number }
  | { readonly do: 'flush' }
  /** A later attempt opens the stream in another process. The earlier one does not know and writes on. */
  | { readonly do: 'take over' }
  /** The store crashes and loses the last batches. */
  | { readonly do: 'lose'; readonly batches: number }
  | { readonly do: 'cut signals' }
  | { readonly do: 'cut all' }
  /** The store loses the whole stream. */
  | { readonly do: 'expire' };

/** One client of the stream. */
interface ReaderPlan {
  /** Before which step it connects; beyond the last one, it connects after the run's end. */
  readonly joinsAt: number;
  /** After how many more frames it hangs up and continues at another process, each time. */
  readonly hangsUpAfter: readonly number[];
}

interface Interleaving {
  readonly steps: readonly Step[];
  readonly readers: readonly ReaderPlan[];
  /** Whether the stream expires after the end of the run. */
  readonly expires: boolean;
}

const MOST_STEPS = 14;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      chunks: fc.integer({ min: 1, max: 40 }),
      size: fc.constantFrom(5, 5, 500, 9_000, 70_000),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'take over' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('lose' as const), batches: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'cut signals' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'cut all' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'expire' as const }) },
);

/** Any order of writers, readers, reconnects, losses and expiry. */
export const interleavings: fc.Arbitrary<Interleaving> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: MOST_STEPS }),
  readers: fc.array(
    fc.record({
      joinsAt: fc.integer({ min: 0, max: MOST_STEPS + 1 }),
      hangsUpAfter: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  expires: fc.boolean(),
});

/** How a reader ended: with the whole stream, or because it was told that the stream has expired. */
export type Outcome = 'whole' | 'expired';

/** Executes an interleaving on one backend. @throws with the rule that a reader or the stored stream has broken */
export async function execute(backend: EventStoreBackend, stores: StorePair, plan: Interleaving): Promise<Outcome[]> {
  const run = new RunUnderTest(backend, stores);
  const joining = plan.readers.map(({ joinsAt }) => ({ at: joinsAt, turn: Promise.withResolvers<void>() }));
  const reading = Promise.all(
    plan.readers.map(async ({ hangsUpAfter }, i) => {
      await joining[i]?.turn.promise;
      return run.read(hangsUpAfter, i);
    }),
  );
  // A failure ends the test where it is awaited.
  reading.catch(() => undefined);
  for (const [i, step] of plan.steps.entries()) {
    for (const { at, turn } of joining) if (at <= i) turn.resolve();
    await run.perform(step);
  }
  await run.finish();
  if (plan.expires) await run.expireForGood();
  for (const { turn } of joining) turn.resolve();
  return (await reading).map((frames) => run.judge(frames));
}

/** The bus as two processes have it. */
export type StorePair = readonly [RunEventStore, RunEventStore];

class RunUnderTest {
  private readonly topic: RunTopic;
  private readonly runId: string;
  private attempts = 0;
  private published = 0;
  private publisher: RunEventPublisher | undefined;
  private readonly overtaken: RunEventPublisher[] = [];
  private hasLost = false;
  private isOver = false;
  private hasExpired = false;
  /** The stored stream at the run's end. */
  private stored: string[] = [];
  /** Ends the wait of readers for a stream that nobody will write any more, as the service does when a run is over. */
  private readonly nothingFollows = new AbortController();

  constructor(
    private readonly backend: EventStoreBackend,
    private readonly stores: StorePair,
  ) {
    ({ topic: this.topic, runId: this.runId } = newRun());
  }

  async perform(step: Step): Promise<void> {
    switch (step.do) {
      case 'write':
        for (let i = 0; i < step.chunks; i++) await this.publish(step.size);
        for (const publisher of this.overtaken) publisher.push(chunkOf('overtaken', 5)).catch(() => undefined);
        return;
      case 'flush':
        return this.flush();
      case 'take over':
        if (this.publisher !== undefined) this.overtaken.push(this.publisher);
        this.publisher = await this.openPublisher();
        return;
      case 'lose': {
        await this.flush();
        const starts = await this.backend.batchStarts(this.runId);
        const first = starts.at(-Math.min(step.batches, starts.length));
        if (first === undefined) return;
        this.hasLost = true;
        return this.backend.forget(this.runId, first);
      }
      case 'cut signals':
        return this.backend.cutSignals();
      case 'cut all':
        return this.backend.cutAll();
      case 'expire':
        this.hasLost = true;
        return this.backend.expire(this.runId);
    }
  }

  /** Ends the run, and checks what is stored of it. */
  async finish(): Promise<void> {
    for (;;) {
      await this.publish(5);
      try {
        await this.publisher?.end();
        break;
      } catch (error) {
        this.afterFailure(error);
      }
    }
    this.stored = await this.readStored();
    this.isOver = true;
    if (this.stored.some((frame) => frame.includes('overtaken'))) {
      throw new Error('The stream contains frames of a writer that had lost it.');
    }
    const numbers = this.stored.map((frame) => Number((JSON.parse(frame) as { id: string }).id));
    if (numbers.some((number, i) => i > 0 && number <= (numbers[i - 1] ?? 0))) {
      throw new Error(`The stored stream repeats chunks: ${numbers.join(' ')}`);
    }
    if (numbers.at(-1) !== this.published) throw new Error('The stored stream lacks its last chunk.');
    if (!this.hasLost && this.attempts === 1 && numbers.length !== this.published) {
      throw new Error(`The stored stream has ${numbers.length} of ${this.published} chunks.`);
    }
  }

  async expireForGood(): Promise<void> {
    this.hasExpired = true;
    await this.backend.expire(this.runId);
    this.nothingFollows.abort(new StreamExpiredError(this.runId));
  }

  /**
   * Reads the run as the stream endpoint does: it continues after the last frame it has, and begins again only when it
   * is told that the store has lost that frame. Returns the frames of the whole stream.
   */
  async read(hangsUpAfter: readonly number[], index: number): Promise<readonly string[] | 'expired'> {
    const hangUps = [...hangsUpAfter];
    let frames: string[] = [];
    let position: FramePosition = STREAM_START;
    for (let connection = index; ; connection++) {
      const reader = await this.connect(connection);
      let left = hangUps.shift() ?? Infinity;
      try {
        const options = { awaitStart: !this.isOver, signal: this.nothingFollows.signal };
        for await (const batch of reader.follow(this.runId, position, options)) {
          if (batch.first !== position.n + 1) {
            throw new Error(`A reader that has ${position.n} frames received frame ${batch.first}.`);
          }
          const taken = batch.frames.slice(0, left);
          frames.push(...taken);
          if (taken.length > 0) position = { n: position.n + taken.length, epoch: batch.epoch };
          left -= taken.length;
          if (left <= 0) break;
          if (batch.end) return frames;
        }
      } catch (error) {
        if (error instanceof StreamExpiredError) {
          if (this.hasExpired) return 'expired';
          if (!this.hasLost) throw new Error('A stream that is there has expired for a reader.', { cause: error });
        } else if (!(error instanceof StreamDivergedError)) {
          throw error;
        } else if (!this.hasLost && !this.hasExpired) {
          throw new Error('A reader has frames that the store has, and was told to begin again.', { cause: error });
        }
        frames = [];
        position = STREAM_START;
      } finally {
        reader.close();
      }
    }
  }

  /** Compares what a reader has received with what was stored at the run's end. */
  judge(frames: readonly string[] | 'expired'): Outcome {
    if (frames === 'expired') return 'expired';
    if (frames.join('\n') !== this.stored.join('\n')) {
      throw new Error(`A reader has ${frames.length} frames, which are not the ${this.stored.length} stored ones.`);
    }
    return 'whole';
  }

  /** Connects to one of the processes, until its signals arrive. */
  private async connect(connection: number): Promise<TopicReader> {
    for (;;) {
      try {
        return await TopicReader.open(this.storeOf(connection), this.topic);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
      }
      await sleep(10);
    }
  }

  private async publish(size: number): Promise<void> {
    for (;;) {
      this.publisher ??= await this.openPublisher();
      try {
        await this.publisher.push(chunkOf(String(this.published + 1), size));
        this.published++;
        return;
      } catch (error) {
        this.afterFailure(error);
      }
    }
  }

  private async flush(): Promise<void> {
    try {
      await this.publisher?.flush();
    } catch (error) {
      this.afterFailure(error);
    }
  }

  /** An attempt that lost its stream is followed by another one. */
  private afterFailure(error: unknown): void {
    if (!(error instanceof StaleWriterError)) throw error;
    this.publisher = undefined;
  }

  private async openPublisher(): Promise<RunEventPublisher> {
    const fence = ++this.attempts;
    const writer = { fence, epoch: `e${fence}` };
    const store = this.storeOf(fence);
    if (fence === 1) return RunEventPublisher.start(store, this.topic, this.runId, writer, null);
    return RunEventPublisher.open(store, this.topic, this.runId, writer);
  }

  private async readStored(): Promise<string[]> {
    const frames: string[] = [];
    for (let position = STREAM_START; ;) {
      const page = await this.stores[0].read(this.topic, this.runId, position, 1_000);
      frames.push(...page.frames);
      position = { n: frames.length, epoch: page.epoch };
      if (!page.more) return frames;
    }
  }

  private storeOf(index: number): RunEventStore {
    return this.stores[index % 2 === 0 ? 0 : 1];
  }
}

function chunkOf(id: string, size: number) {
  return { type: 'text-delta' as const, id, delta: 'é'.repeat(size) };
}
