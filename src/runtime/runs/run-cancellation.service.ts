import { Injectable, Logger } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { RunEvents } from '../events/run-events.js';
import { RunTelemetry } from '../../platform/telemetry/run-telemetry.js';
import type { RunDetails } from './records/run.dto.js';
import type { RunEntity } from './records/run.entity.js';
import { RunCancelling } from './records/run-ending.js';
import { RunReader } from './records/run-reader.js';
import { ThreadService } from '../threads/thread.service.js';
import type { RunCancelRequest } from './run-request.dto.js';
import { RunQueue } from './run-queue.js';
import { UnstartedRun } from './unstarted-run.js';

const MAX_TRIES = 3;

/**
 * Cancels runs: queued runs at once, running runs by notifying their worker in whichever process, and runs that wait
 * for approvals by having a worker end them.
 */
@Injectable()
export class RunCancellationService {
  private readonly logger = new Logger(RunCancellationService.name);

  constructor(
    private readonly threads: ThreadService,
    private readonly runs: RunReader,
    private readonly cancelling: RunCancelling,
    private readonly events: RunEvents,
    private readonly unstarted: UnstartedRun,
    private readonly telemetry: RunTelemetry,
    private readonly queue: RunQueue,
  ) {}

  /**
   * @throws DomainError `thread_not_found`, `run_not_found`, `permission_denied`; nothing is cancelled while the event
   *   bus is unavailable
   */
  async cancelOnThread(
    threadId: string,
    { taskId }: RunCancelRequest,
    caller: Principal,
  ): Promise<{ taskIds: string[] }> {
    const organizationId = caller.organization.id;
    await this.threads.requireRunnable(caller, threadId);
    const open = await this.runs.findOpen(organizationId, threadId);
    const chosen = taskId === undefined ? open : open.filter(({ id }) => id === taskId);
    if (taskId !== undefined && chosen.length === 0) await this.runs.getOnThread(organizationId, threadId, taskId);
    // Queued runs first, so that none of them starts when the running one ends.
    for (const run of chosen.toReversed()) await this.cancel(run);
    return { taskIds: chosen.map(({ id }) => id) };
  }

  /** Cancels one run; a finished run does not change. @throws DomainError `run_not_found`, `permission_denied` */
  async cancelRun(id: string, caller: Principal): Promise<RunDetails> {
    const run = await this.runs.findRun(caller.organization.id, id);
    if (run !== null) {
      requireRunAccess(caller, run.agentId);
      await this.cancel(run);
    }
    return this.runs.getRun(caller, id);
  }

  private async cancel(run: RunEntity): Promise<void> {
    await this.events.requireReachable(run, run.id);
    // Between two statements the run can yield its slot and be queued again, or begin or cease to wait.
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const cancelled = await this.cancelling.cancelQueued(run.id);
      if (cancelled !== undefined) {
        this.telemetry.countUnstarted({ status: 'cancelled' });
        return this.unstarted.conclude(cancelled, { aborted: true }, { type: 'abort', reason: 'cancelled' });
      }
      if (await this.cancelling.requestStop(run.id)) return this.announce(run.id);
      if (await this.cancelling.cancelSuspended(run.id)) return this.queue.wakeWorker();
    }
  }

  /** The request is recorded: a worker that misses the notification finds it with its next heartbeat. */
  private async announce(runId: string): Promise<void> {
    await this.events
      .announce({ type: 'cancel', runId })
      .catch((error: Error) => this.logger.warn({ run_id: runId, err: error }, 'Could not publish a cancellation'));
  }
}
