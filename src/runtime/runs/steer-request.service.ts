import { Injectable, Logger } from '@nestjs/common';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { TIERS } from '../../core/tier.js';
import { RunEvents } from '../events/run-events.js';
import { idempotencyOf, type AcceptedRun, type RunRequestCall, RunRequestService } from './run-request.service.js';
import { RunSteering, type StoredSteer } from './records/run-steering.js';
import type { SteerRequest } from './run-request.dto.js';

/** Accepts messages for runs under way. Without such a run, a message gets a run of its own. */
@Injectable()
export class SteerRequestService {
  private readonly logger = new Logger(SteerRequestService.name);

  constructor(
    private readonly requests: RunRequestService,
    private readonly steering: RunSteering,
    private readonly events: RunEvents,
    private readonly audit: AuditEvents,
  ) {}

  /**
   * @param interrupts ends the current step of the run
   * @throws DomainError for every fault of the request; nothing is stored then
   */
  async steer(
    threadId: string,
    request: SteerRequest,
    { interrupts, ...call }: RunRequestCall & { interrupts: boolean },
  ): Promise<AcceptedRun> {
    const idempotency = idempotencyOf(call.idempotencyKey, { ...request, interrupts });
    // It is not known yet which run takes the message, and with which tier.
    const run = await this.requests.checkRequest(threadId, request, { ...call, idempotency, tiers: TIERS });
    const stored = await this.steering.steer(run, interrupts, ({ runId }, manager) =>
      this.audit.record(
        run.organizationId,
        {
          event: 'run.steered',
          actor: call.caller,
          target: { type: 'run', id: runId, name: null },
          changes: { thread_id: { to: threadId }, interrupts: { to: interrupts } },
        },
        manager,
      ),
    );
    if (stored === undefined) {
      const posted = await this.requests.post(run, call.caller);
      return { ...posted, steer: { steered: false, heirId: posted.taskId } };
    }
    if (!stored.isRepeated) await this.announce(stored, interrupts);
    const { runId: taskId, steered, steerId: heirId } = stored;
    // The run began before this request, so its stream is read from where it is now, as for a repeated request.
    return { taskId, isRepeated: true, steer: { steered, heirId } };
  }

  /** A worker that misses the notice finds the message when it stores the answer, or with its next heartbeat. */
  private async announce({ runId, steerId }: StoredSteer, interrupts: boolean): Promise<void> {
    await this.events
      .announce({ type: 'steer', runId, steerId, interrupts })
      .catch((error: Error) => this.logger.warn({ run_id: runId, err: error }, 'Could not announce a message'));
  }
}
