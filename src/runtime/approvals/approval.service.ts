import { Injectable } from '@nestjs/common';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import { isUuid } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { type ApprovalAnswer, ApprovalAnswers, type ClosedApproval } from '../runs/records/approval-closing.js';
import { RunQueue } from '../runs/run-queue.js';
import { ThreadService } from '../threads/thread.service.js';
import type { ApprovalAccepted } from './approval.dto.js';

/** Answers requests for approvals. */
@Injectable()
export class ApprovalService {
  constructor(
    private readonly threads: ThreadService,
    private readonly answers: ApprovalAnswers,
    private readonly audit: AuditEvents,
    private readonly queue: RunQueue,
  ) {}

  /**
   * Records the answer, and lets the run continue if it was the last one. The same answer by the same caller again
   * changes nothing.
   * @throws DomainError `thread_not_found`, `approval_not_found`, `permission_denied`; `approval_closed` if another
   *   answer counts
   */
  async answer(
    { threadId, approvalId }: { threadId: string; approvalId: string },
    { approved, reason = null }: { approved: boolean; reason?: string | null },
    caller: Principal,
  ): Promise<{ runId: string; accepted: ApprovalAccepted }> {
    const id = approvalId.toLowerCase();
    const runId = await this.answerAll(threadId, [{ approvalId: id, approved, reason }], caller);
    return { runId, accepted: { approvalId: id, approved } };
  }

  /**
   * Records answers to several requests of one run, all of them or none, and lets the run continue.
   * @returns the run
   * @throws what `answer` throws: for the first request for which another answer counts
   */
  async answerAll(threadId: string, answers: readonly ApprovalAnswer[], caller: Principal): Promise<string> {
    const organizationId = caller.organization.id;
    await this.threads.requireRunnable(caller, threadId);
    if (!answers.every(({ approvalId }) => isUuid(approvalId))) throw unknownApproval();
    const { userId, apiKeyId } = caller;
    const answered = await this.answers.answer(
      { organizationId, threadId },
      answers,
      { userId, apiKeyId },
      (manager, { id, runId, toolName, approved, reason }) =>
        this.audit.record(
          organizationId,
          {
            event: 'approval.answered',
            actor: caller,
            target: { type: 'approval', id, name: toolName },
            changes: { run_id: { to: runId }, approved: { to: approved }, reason: { to: reason } },
          },
          manager,
        ),
    );
    if (answered === undefined) throw unknownApproval();
    if (answered.continues) await this.queue.wakeWorker();
    if (answered.refused !== undefined) throw closed(answered.refused);
    return answered.runId;
  }
}

const SENTENCES: Readonly<Record<NonNullable<ClosedApproval['closedAs']>, string>> = {
  answered: 'Somebody has answered before.',
  timed_out: 'The time for an answer has passed.',
  cancelled: 'The run was cancelled.',
  poster_gone: 'The credential that posted the run is gone.',
  ended: 'The run has ended.',
};

function closed({ approved, reason, closedAs }: ClosedApproval): DomainError {
  const recorded = { approved: approved, ...(reason === null ? {} : { reason }), closed_as: closedAs ?? 'ended' };
  const detail = `${SENTENCES[closedAs ?? 'ended']} The call is ${approved ? 'approved' : 'denied'}.`;
  return new DomainError('approval_closed', detail, undefined, { data: recorded });
}

function unknownApproval(): DomainError {
  return new DomainError('approval_not_found', 'The thread has no approval with this id.');
}
