import { framePage, UNKNOWN_RUN } from '../../src/runtime/events/frame-page.js';
import {
  type FramePosition,
  StaleWriterError,
  type FrameBatch,
  type FramePage,
  type PreviousRun,
  RunEventStore,
  type RunSignal,
  type RunSignalListener,
  type RunTopic,
  type StreamWriter,
  type Unsubscribe,
} from '../../src/runtime/events/run-event-store.js';
import { joinFrames } from '../../src/runtime/events/signal-codec.js';

/** A store of one run in memory whose delays, failures and signals the test decides. */
export class ScriptedRunEventStore extends RunEventStore {
  readonly appended: FrameBatch[] = [];
  readonly started: { runId: string; follows: PreviousRun }[] = [];
  reads = 0;
  /** Thrown by the next calls of `append` and `read`, one each. */
  readonly failures: Error[] = [];
  /** Calls of `append` and `read` wait for it. */
  gate: Promise<void> = Promise.resolve();
  fence = 0;
  known = true;
  private readonly listeners = new Set<RunSignalListener>();

  async open(_topic: RunTopic, runId: string, { fence }: StreamWriter): Promise<number> {
    if (fence < this.fence) {
      throw new StaleWriterError(runId);
    }
    this.fence = fence;
    return this.frames.length + 1;
  }

  async start(topic: RunTopic, batch: FrameBatch, fence: number, follows: PreviousRun): Promise<void> {
    this.started.push({ runId: batch.runId, follows });
    if (this.frames.length === 0) {
      this.fence = fence;
    }
    await this.append(topic, batch, fence);
  }

  async append(_topic: RunTopic, batch: FrameBatch, fence: number): Promise<void> {
    await this.pass();
    if (fence !== this.fence || batch.first !== this.frames.length + 1) {
      throw new StaleWriterError(batch.runId);
    }
    this.appended.push(batch);
  }

  async read(_topic: RunTopic, _runId: string, after: FramePosition, maxFrames: number): Promise<FramePage> {
    this.reads++;
    await this.pass();
    if (!this.known) return UNKNOWN_RUN;
    const batches = this.appended
      .filter(({ frames }) => frames.length > 0)
      .map(({ first, epoch, frames }) => ({
        first,
        last: first + frames.length - 1,
        epoch,
        joinedFrames: joinFrames(frames),
      }));
    return framePage({ ended: await this.hasEnded(), nextFrame: this.frames.length + 1, batches }, after, maxFrames);
  }

  async hasEnded(): Promise<boolean> {
    return this.appended.at(-1)?.end === true;
  }

  async subscribe(_topic: RunTopic, listener: RunSignalListener): Promise<Unsubscribe> {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Sends a signal to the subscribers; storing what it stands for is the test's business. */
  signal(signal: RunSignal): void {
    this.listeners.forEach((listener) => listener(signal));
  }

  get subscribers(): number {
    return this.listeners.size;
  }

  async announce(): Promise<void> {}

  onNotice(): Unsubscribe {
    return () => undefined;
  }

  async close(): Promise<void> {}

  private get frames(): string[] {
    return this.appended.flatMap(({ frames }) => frames);
  }

  private async pass(): Promise<void> {
    await this.gate;
    const failure = this.failures.shift();
    if (failure) {
      throw failure;
    }
  }
}
