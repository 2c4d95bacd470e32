import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type FramePosition, STREAM_START } from './frame-position.js';
import { type PublisherOptions, RunEventPublisher } from './run-event-publisher.js';
import {
  type CancelListener,
  type FramePage,
  type PreviousRun,
  RunEventStore,
  type RunTopic,
  type StreamWriter,
  type Unsubscribe,
} from './run-event-store.js';
import { TopicReader } from './topic-reader.js';

const PAGE_FRAMES = 1024;

/** The run event bus as the rest of the service sees it: workers publish, streams read, and both hear of cancellations. */
@Injectable()
export class RunEvents implements OnApplicationShutdown {
  constructor(private readonly store: RunEventStore) {}

  /**
   * Subscribes to the runs of a thread. The caller closes the reader.
   * @throws DomainError `storage_unavailable` if the store cannot be reached within 2 s
   */
  openTopic(topic: RunTopic): Promise<TopicReader> {
    return TopicReader.open(this.store, topic);
  }

  /**
   * Takes a run's stream for writing; every other writer can write no more.
   * @throws StaleWriterError if a later attempt holds the stream
   */
  openPublisher(
    topic: RunTopic,
    runId: string,
    writer: StreamWriter,
    options?: PublisherOptions,
  ): Promise<RunEventPublisher> {
    return RunEventPublisher.open(this.store, topic, runId, writer, options);
  }

  /**
   * Writes a run's stream from its beginning; it is taken with its first frames.
   * @param follows the run that was posted to the thread right before this one
   */
  startPublisher(
    topic: RunTopic,
    runId: string,
    writer: StreamWriter,
    follows: PreviousRun,
    options?: PublisherOptions,
  ): RunEventPublisher {
    return RunEventPublisher.start(this.store, topic, runId, writer, follows, options);
  }

  /** Every frame that is stored of a run, oldest first; none if the run is unknown or has expired. */
  async readFrames(runId: string): Promise<string[]> {
    const frames: string[] = [];
    for (let position = STREAM_START; ;) {
      const page = await this.store.read(runId, position, PAGE_FRAMES);
      frames.push(...page.frames);
      if (!page.more) return frames;
      position = { n: frames.length, epoch: page.epoch };
    }
  }

  /** Whether the buffer knows a run, and what it holds for a reader that has frame `after`. */
  async lookAfter(
    runId: string,
    after: FramePosition,
  ): Promise<Pick<FramePage, 'known' | 'diverged'> & { holdsMore: boolean }> {
    const { known, diverged, ended, frames } = await this.store.read(runId, after, 1);
    return { known, diverged, holdsMore: frames.length > 0 || ended };
  }

  /** Whether a run's stream is complete, so that every reader will reach its end. */
  hasEnded(runId: string): Promise<boolean> {
    return this.store.hasEnded(runId);
  }

  /** @throws the driver's error if the buffer cannot be reached */
  async requireReachable(runId: string): Promise<void> {
    await this.store.hasEnded(runId);
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
