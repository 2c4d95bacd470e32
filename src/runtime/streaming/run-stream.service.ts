import { Injectable } from '@nestjs/common';
import { throughOutage } from '../../core/retry.js';
import { type FramePosition, STREAM_START, StreamExpiredError, type RunTopic } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import type { TopicReader } from '../events/topic-reader.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader, type StreamableRun } from '../runs/records/run-reader.js';
import type { AcceptedRun } from '../runs/run-request.service.js';
import type { Principal } from '../../core/principal.js';
import { isOpenRunStatus } from '../../core/run-status.js';
import { ThreadService } from '../threads/thread.service.js';
import { NOTHING_READ, type ReaderPosition, type RunFrames } from './run-frames.js';
import { type StreamedRun, RunStream, type StreamStart } from './run-stream.js';
import { StreamEnding } from './stream-ending.js';
import type { StreamQuery } from './stream-query.js';

/** Opens streams on threads. */
@Injectable()
export class RunStreamService {
  constructor(
    private readonly threads: ThreadService,
    private readonly runs: RunReader,
    private readonly events: RunEvents,
    private readonly ending: StreamEnding,
  ) {}

  /**
   * The requested stream; undefined when the thread is idle and the caller does not want to wait. The caller closes it.
   * @throws DomainError `thread_not_found`, `run_not_found`, `stream_expired`
   */
  async openStream(caller: Principal, threadId: string, query: StreamQuery): Promise<RunStream | undefined> {
    await this.threads.requireRunnable(caller, threadId);
    const thread: RunTopic = { organizationId: caller.organization.id, threadId };
    // Subscribes before it reads, so that it does not miss a run that begins in between.
    const reader = await this.events.openTopic(thread);
    try {
      const start = await this.findStart(thread, query);
      if (start.run !== undefined || !query.idle204) return this.streamFrom(start, thread, reader, query);
      reader.close();
      return undefined;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /**
   * Posts a run and returns its stream, from its beginning. Subscribes first: a run is not posted when its stream
   * cannot be read. The caller closes the stream.
   * @param form of the frames that the caller wants
   * @param post checks that the caller can run the agent of the thread
   * @throws DomainError `storage_unavailable`, `stream_expired` for a run that was posted before, and what `post`
   *   throws
   */
  async openWith(
    thread: RunTopic,
    form: Pick<StreamQuery, 'aiVersion' | 'newForm'>,
    post: () => Promise<AcceptedRun>,
  ): Promise<RunStream> {
    const reader = await this.events.openTopic(thread);
    try {
      const { taskId, isRepeated, steer } = await post();
      const query = { taskId, after: NOTHING_READ, follow: false, idle204: false, ...form };
      const start = isRepeated
        ? await this.findStart(thread, query)
        : { run: { id: taskId, mayBeUnstarted: true }, previousId: undefined };
      const heirId = steer?.steered ? steer.heirId : undefined;
      return this.streamFrom({ ...start, heirId }, thread, reader, query);
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  private streamFrom(start: StreamStart, thread: RunTopic, reader: TopicReader, query: StreamQuery): RunStream {
    const findNext = (previousId: string | undefined) => throughOutage(() => this.findNext(thread, previousId));
    const findRun = (runId: string) => throughOutage(() => this.findRun(thread, runId));
    const complete = (runId: string, frames: RunFrames) =>
      throughOutage(() => this.ending.complete(thread.organizationId, runId, frames));
    return new RunStream(reader, query, start, { findNext, findRun, complete });
  }

  private async findStart({ organizationId, threadId }: RunTopic, query: StreamQuery): Promise<StreamStart> {
    if (query.taskId !== undefined) {
      const run = await this.runs.getOnThread(organizationId, threadId, query.taskId);
      await this.checkPosition(run, query.after);
      return { run: this.streamed(run), previousId: undefined, isRead: hasRead(query.after, run) };
    }
    const { current, last } = await this.runs.findTurn(organizationId, threadId);
    if (current !== undefined) return { run: this.streamed(current), previousId: undefined };
    // A run that has ended by now belongs to an earlier request, even if its last frames are still to come.
    return { run: undefined, previousId: last?.id };
  }

  /**
   * Frames of an open run that the live buffer has lost are streamed again.
   * @throws StreamExpiredError if the reader cannot reach the end of the run any more
   */
  private async checkPosition(run: RunEntity, after: FramePosition): Promise<void> {
    if (isOpen(run) || this.ending.mayBeUnstarted(run)) return;
    const { known } = await this.events.lookAfter(run, run.id, after);
    if (!known) throw new StreamExpiredError(run.id);
  }

  private async findRun({ organizationId }: RunTopic, runId: string): Promise<StreamedRun | undefined> {
    const run = await this.runs.findRun(organizationId, runId);
    return run === null ? undefined : this.streamed(run);
  }

  /** Skips runs that have meanwhile come and left the live buffer. */
  private async findNext(thread: RunTopic, previousId: string | undefined): Promise<StreamedRun | undefined> {
    for (let id = previousId; ;) {
      const next = await this.runs.findAfter(thread, id);
      if (next === undefined) return undefined;
      const streamed = this.streamed(next);
      const isReadable =
        isOpen(next) || streamed.mayBeUnstarted || (await this.events.lookAfter(thread, next.id, STREAM_START)).known;
      if (isReadable) return streamed;
      id = next.id;
    }
  }

  private streamed(run: StreamableRun): StreamedRun {
    return { id: run.id, mayBeUnstarted: this.ending.mayBeUnstarted(run) };
  }
}

/**
 * Frames from the transcript have no epoch; they are sent when the run is over. The stream of a run that no attempt
 * began has one writer, which the run does not name.
 */
function hasRead({ isLast, epoch }: ReaderPosition, run: RunEntity): boolean {
  const isOfLastWriter = epoch === STREAM_START.epoch || epoch === run.epoch || run.startedAt === null;
  return isLast && run.finishedAt !== null && isOfLastWriter;
}

function isOpen({ status }: StreamableRun): boolean {
  return isOpenRunStatus(status);
}
