import { Injectable } from '@nestjs/common';
import type { RunTopic } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import { RunReaderService } from '../threads/run-reader.service.js';
import { ThreadService } from '../threads/thread.service.js';
import { type CarriedRun, isOpen, RunStream } from './run-stream.js';
import type { StreamQuery } from './stream-query.js';

/** Opens streams on threads. */
@Injectable()
export class RunStreamService {
  constructor(
    private readonly threads: ThreadService,
    private readonly runs: RunReaderService,
    private readonly events: RunEvents,
  ) {}

  /**
   * The stream that was asked for; undefined when the thread is idle and the caller does not want to wait. The caller closes it.
   * @throws DomainError `thread_not_found`, `run_not_found`
   */
  async open(thread: RunTopic, query: StreamQuery): Promise<RunStream | undefined> {
    await this.threads.find(thread.organizationId, thread.threadId);
    // Subscribed before looking, so that a run that begins in between is heard.
    const reader = await this.events.openTopic(thread);
    try {
      const first = await this.findFirst(thread, query);
      if (first !== undefined || !query.idle204) return new RunStream(reader, this.runs, thread, query, first);
      reader.close();
      return undefined;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  private async findFirst({ organizationId, threadId }: RunTopic, query: StreamQuery): Promise<CarriedRun | undefined> {
    const run =
      query.taskId === undefined
        ? await this.runs.findCurrent(organizationId, threadId)
        : await this.runs.getOnThread(organizationId, threadId, query.taskId);
    return run === null ? undefined : { id: run.id, mayBeUnstarted: isOpen(run) };
  }
}
