import { Injectable } from '@nestjs/common';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { requirePermission } from '../../core/require-permission.js';
import { requireRunAccess } from '../../core/run-access.js';
import { ApprovalService } from '../approvals/approval.service.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader } from '../runs/records/run-reader.js';
import { fault, type SentApproval } from './response-input.js';
import { withAnswer } from './with-answer.js';

/** Lets runs continue whose approval requests are answered. */
@Injectable()
export class ResponseApprovals {
  constructor(
    private readonly runs: RunReader,
    private readonly approvals: ApprovalService,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * The run that has asked. All its open requests have to be answered together: the answers begin a response.
   * @throws DomainError `approval_not_found`, `permission_denied`, `input_mismatch`
   */
  async findAsking(caller: Principal, sent: readonly SentApproval[]): Promise<RunEntity> {
    requirePermission(caller, 'RUN_APPROVE');
    const organizationId = caller.organization.id;
    const runs = new Map<string, RunEntity>();
    for (const { approvalId, path } of sent) {
      const run = await this.runs.findOfApproval(organizationId, approvalId);
      if (run === null) {
        throw fault('approval_not_found', `${path}.approval_request_id`, 'There is no such approval request.');
      }
      requireRunAccess(caller, run.agentId);
      runs.set(run.id, run);
    }
    const [run, other] = runs.values();
    if (run === undefined || other !== undefined) {
      throw fault('input_mismatch', 'input', 'The approval requests must be of one response.');
    }
    const ids = new Set(sent.map(({ approvalId }) => approvalId));
    const pending = await withAnswer(this.budget, caller, (answer) => this.runs.pendingOf([run], answer));
    const open = pending.get(run.id)?.find(({ id }) => !ids.has(id));
    if (open === undefined) return run;
    throw fault('input_mismatch', 'input', `The approval request for ${open.tool_name} has to be answered, too.`);
  }

  /** Records the answers. The run continues with the last one. @throws what `ApprovalService.answer` throws */
  async answer({ threadId }: RunEntity, sent: readonly SentApproval[], caller: Principal): Promise<void> {
    for (const { approvalId, approved, reason = null } of sent) {
      await this.approvals.answer({ threadId, approvalId }, { approved, reason }, caller);
    }
  }
}
