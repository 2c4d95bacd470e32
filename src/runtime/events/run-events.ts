import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  type FramePosition,
  STREAM_START,
  type FramePage,
  type PreviousRun,
  RunEventStore,
  type RunTopic,
  type StreamWriter,
  type Unsubscribe,
} from './run-event-store.js';
import { type PublisherOptions, RunEventPublisher } from './run-event-publisher.js';
import { TopicReader } from './topic-reader.js';

const PAGE_FRAMES = 1024;

/** The public API of the run event bus: workers publish, streams read, and workers receive notices. */
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
   * Calls back with the id of each run of the thread whose stream ends or pauses, and with undefined when signals may
   * have been lost. Best effort: a worker that stops right after the run's end never ends the stream. The run's record
   * is authoritative.
   * @throws DomainError `storage_unavailable` if the store cannot be reached within 2 s
   */
  watchStops(topic: RunTopic, onStop: (runId: string | undefined) => void): Promise<Unsubscribe> {
    return this.store.subscribe(topic, (signal) => {
      if (signal.type === 'resync') onStop(undefined);
      else if (signal.type === 'batch' && (signal.end || signal.frames.length === 0)) onStop(signal.runId);
    });
  }

  /**
   * Claims a run's stream for writing. Rejects all other writers from then on.
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
   * Writes a new stream from its beginning. The first frames claim the stream.
   * @param follows the run that was posted to the thread immediately before this one
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

  /**
   * All stored frames of a run, oldest first, with the epochs of their writers; empty if the run is unknown or has
   * expired.
   */
  async readStream(topic: RunTopic, runId: string): Promise<{ frames: string[]; epochs: ReadonlySet<string> }> {
    const frames: string[] = [];
    const epochs = new Set<string>();
    for (let position = STREAM_START; ;) {
      const page = await this.store.read(topic, runId, position, PAGE_FRAMES);
      frames.push(...page.frames);
      if (page.frames.length > 0) epochs.add(page.epoch);
      if (!page.more) return { frames, epochs };
      position = { n: frames.length, epoch: page.epoch };
    }
  }

  /** Whether the buffer knows a run, and whether it holds more for a reader that has frame `after`. */
  async lookAfter(
    topic: RunTopic,
    runId: string,
    after: FramePosition,
  ): Promise<Pick<FramePage, 'known' | 'diverged'> & { holdsMore: boolean }> {
    const { known, diverged, ended, frames } = await this.store.read(topic, runId, after, 1);
    return { known, diverged, holdsMore: frames.length > 0 || ended };
  }

  /** Whether a run's stream is complete, so that every reader reaches its end. */
  hasEnded(topic: RunTopic, runId: string): Promise<boolean> {
    return this.store.hasEnded(topic, runId);
  }

  /** @throws the driver's error if the buffer is unreachable */
  async requireReachable(topic: RunTopic, runId: string): Promise<void> {
    await this.store.hasEnded(topic, runId);
  }

  /** Broadcasts a notice about a run to every process. Best effort: the database is authoritative. */
  announce(notice: RunNotice): Promise<void> {
    return this.store.announce(encodeNotice(notice));
  }

  onNotice(listener: (notice: RunNotice) => void): Unsubscribe {
    return this.store.onNotice((payload) => listener(decodeNotice(payload)));
  }

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}

/** What every process is told about a run, for the one that executes it. */
export type RunNotice =
  | { readonly type: 'cancel'; readonly runId: string }
  /** Messages wait for the run. `interrupts`: the current step ends at once. */
  | { readonly type: 'steer'; readonly runId: string; readonly steerId: string; readonly interrupts: boolean };

/** The wire form: the id of a cancelled run, or `<run id> <steer id> <1 if it interrupts, otherwise 0>`. */
export function encodeNotice(notice: RunNotice): string {
  if (notice.type === 'cancel') return notice.runId;
  return `${notice.runId} ${notice.steerId} ${notice.interrupts ? 1 : 0}`;
}

export function decodeNotice(payload: string): RunNotice {
  const [runId = '', steerId, interrupts] = payload.split(' ');
  return steerId === undefined
    ? { type: 'cancel', runId }
    : { type: 'steer', runId, steerId, interrupts: interrupts === '1' };
}
