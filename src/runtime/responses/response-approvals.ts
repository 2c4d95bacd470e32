import { Injectable } from '@nestjs/common';
import { AnswerBudget, withAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { requirePermission } from '../../core/require-permission.js';
import { requireRunAccess } from '../../core/run-access.js';
import { ApprovalService } from '../approvals/approval.service.js';
import type { PendingApprovalItem } from '../runs/records/approval.dto.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader } from '../runs/records/run-reader.js';
import { fault, type SentApproval } from './response-input.js';

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
   * @throws DomainError `approval_not_found`, `permission_denied`, `input_mismatch`; `invalid_request` for two answers
   *   to one request
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
    const ids = new Set<string>();
    for (const { approvalId, path } of sent) {
      if (ids.has(approvalId)) {
        throw fault('invalid_request', `${path}.approval_request_id`, 'Must be answered once.');
      }
      ids.add(approvalId);
    }
    const open = (await this.openOf(run, caller)).find(({ id }) => !ids.has(id));
    if (open === undefined) return run;
    throw fault('input_mismatch', 'input', `The approval request for ${open.tool_name} has to be answered, too.`);
  }

  /**
   * Records the answers, all of them or none, and lets the run continue.
   * @throws what `ApprovalService.answerAll` throws
   */
  async answer(run: RunEntity, sent: readonly SentApproval[], caller: Principal): Promise<void> {
    const answers = sent.map(({ approvalId, approved, reason = null }) => ({ approvalId, approved, reason }));
    await this.approvals.answerAll(run.threadId, answers, caller);
  }

  private async openOf(run: RunEntity, caller: Principal): Promise<PendingApprovalItem[]> {
    const pending = await withAnswer(this.budget, caller, (answer) => this.runs.pendingOf([run], answer));
    return pending.get(run.id) ?? [];
  }
}
