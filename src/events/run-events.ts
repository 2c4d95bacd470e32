import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type PublisherOptions, RunEventPublisher } from './run-event-publisher.js';
import {
  type CancelListener,
  type PreviousRun,
  RunEventStore,
  type RunTopic,
  type Unsubscribe,
} from './run-event-store.js';
import { TopicReader } from './topic-reader.js';

const PAGE_FRAMES = 1024;
/** Above every frame number. */
const BEYOND_THE_END = 2 ** 31 - 1;

/** The run event bus as the rest of the service sees it: workers publish, streams read, and both hear of cancellations. */
@Injectable()
export class RunEvents implements OnApplicationShutdown {
  constructor(private readonly store: RunEventStore) {}

  /**
   * Subscribes to the runs of a thread. The caller closes the reader.
   * @throws DomainError `storage_unavailable` if the store cannot be reached within 10 s
   */
  openTopic(topic: RunTopic): Promise<TopicReader> {
    return TopicReader.open(this.store, topic);
  }

  /**
   * Takes a run's stream for writing.
   * @param fence the attempt's number, from 1: earlier attempts can write no more
   * @throws StaleWriterError if a later attempt holds the stream
   */
  openPublisher(topic: RunTopic, runId: string, fence: number, options?: PublisherOptions): Promise<RunEventPublisher> {
    return RunEventPublisher.open(this.store, topic, runId, fence, options);
  }

  /**
   * Writes a run's stream from its beginning; it is taken with its first frames.
   * @param follows the run that was posted to the thread right before this one
   */
  startPublisher(
    topic: RunTopic,
    runId: string,
    fence: number,
    follows: PreviousRun,
    options?: PublisherOptions,
  ): RunEventPublisher {
    return RunEventPublisher.start(this.store, topic, runId, fence, follows, options);
  }

  /** Every frame that is stored of a run, oldest first; none if the run is unknown or has expired. */
  async readFrames(runId: string): Promise<string[]> {
    const frames: string[] = [];
    for (;;) {
      const page = await this.store.read(runId, frames.length, PAGE_FRAMES);
      frames.push(...page.frames);
      if (!page.more) return frames;
    }
  }

  /** Whether a run is in the buffer at all, and whether its frame `n` is; frame 0 stands for the beginning. */
  async lookFor(runId: string, n: number): Promise<{ known: boolean; found: boolean }> {
    const { known, frames } = await this.store.read(runId, Math.max(n - 1, 0), 1);
    return { known, found: known && (n === 0 || frames.length > 0) };
  }

  /** Whether a run's stream is complete, so that whoever reads it will reach its end. */
  async hasEnded(runId: string): Promise<boolean> {
    const { ended } = await this.store.read(runId, BEYOND_THE_END, 1);
    return ended;
  }

  /** Tells every process that a run is to stop. Best effort: the database is the truth. */
  announceCancel(runId: string): Promise<void> {
    return this.store.announceCancel(runId);
  }

  onCancel(listener: CancelListener): Unsubscribe {
    return this.store.onCancel(listener);
  }

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
