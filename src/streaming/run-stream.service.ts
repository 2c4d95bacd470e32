import { Injectable } from '@nestjs/common';
import { throughOutage } from '../common/through-outage.js';
import { type FramePosition, STREAM_START } from '../events/frame-position.js';
import { StreamExpiredError } from '../events/run-event-errors.js';
import type { RunTopic } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader, type RunState } from '../runs/records/run-reader.js';
import { ThreadService } from '../threads/thread.service.js';
import type { RunFrames } from './run-frames.js';
import { type CarriedRun, RunStream, type StreamStart } from './run-stream.js';
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
   * The stream that was asked for; undefined when the thread is idle and the caller does not want to wait. The caller closes it.
   * @throws DomainError `thread_not_found`, `run_not_found`, `stream_expired`
   */
  async open(thread: RunTopic, query: StreamQuery): Promise<RunStream | undefined> {
    await this.threads.requireExisting(thread.organizationId, thread.threadId);
    // Subscribed before looking, so that a run that begins in between is heard.
    const reader = await this.events.openTopic(thread);
    try {
      const start = await this.findStart(thread, query);
      if (start.run !== undefined || !query.idle204) {
        const findNext = (previousId: string | undefined) => throughOutage(() => this.findNext(thread, previousId));
        const complete = (runId: string, frames: RunFrames) =>
          throughOutage(() => this.ending.complete(thread.organizationId, runId, frames));
        return new RunStream(reader, query, start, { findNext, complete });
      }
      reader.close();
      return undefined;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  private async findStart({ organizationId, threadId }: RunTopic, query: StreamQuery): Promise<StreamStart> {
    if (query.taskId !== undefined) {
      const run = await this.runs.getOnThread(organizationId, threadId, query.taskId);
      await this.checkPosition(run, query.after);
      return { run: toCarried(run), previousId: undefined };
    }
    const { current, last } = await this.runs.findTurn(organizationId, threadId);
    if (current !== undefined) return { run: toCarried(current), previousId: undefined };
    // What is over by now was answered to somebody else, even if its last frames are still to come.
    return { run: undefined, previousId: last?.id };
  }

  /** Can the reader still be brought to the end of the run? What the live buffer has lost of an open one is streamed again. */
  private async checkPosition(run: RunEntity, after: FramePosition): Promise<void> {
    if (isOpen(run)) return;
    const { known } = await this.events.lookAfter(run.id, after);
    if (!known) throw new StreamExpiredError(run.id);
  }

  /** Runs that have come and left the live buffer meanwhile are passed over. */
  private async findNext(thread: RunTopic, previousId: string | undefined): Promise<CarriedRun | undefined> {
    for (let id = previousId; ;) {
      const next = await this.runs.findAfter(thread, id);
      if (next === undefined) return undefined;
      if (isOpen(next) || (await this.events.lookAfter(next.id, STREAM_START)).known) return toCarried(next);
      id = next.id;
    }
  }
}

function toCarried(run: RunState): CarriedRun {
  return { id: run.id, mayBeUnstarted: isOpen(run) };
}

/** Is the run still to be executed, or being executed? */
function isOpen({ status }: RunState): boolean {
  return status === 'queued' || status === 'running';
}
