import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { CLOSE_APPROVALS, continueRun, REASONS } from './approval-closing.js';
import type { RunApprovalEntity } from './run-approval.entity.js';

/** An approval of a thread. */
interface ApprovalPlace {
  readonly organizationId: string;
  readonly threadId: string;
  readonly approvalId: string;
}

/** Somebody's answer. */
interface ApprovalAnswer {
  readonly approved: boolean;
  readonly reason: string | null;
  readonly userId: string | null;
  readonly apiKeyId: string | null;
}

/** An approval after its closing. */
export type ClosedApproval = Pick<
  RunApprovalEntity,
  'id' | 'runId' | 'toolName' | 'reason' | 'closedAs' | 'userId' | 'apiKeyId'
> & { readonly approved: boolean };

/** An approval that is closed, by this answer or before it. */
interface Answered {
  readonly approval: ClosedApproval;
  readonly isNew: boolean;
  /** Its run can start now. */
  readonly continues: boolean;
}

const APPROVAL = `
  SELECT approval.id, approval.run_id AS "runId", tool_name AS "toolName", approved, reason, closed_as AS "closedAs",
         approval.user_id AS "userId", approval.api_key_id AS "apiKeyId",
         CASE WHEN closed_at IS NOT NULL THEN NULL
              WHEN run.cancel_requested_at IS NOT NULL THEN 'cancelled'
              WHEN expires_at <= now() THEN 'timed_out' END AS "tooLate"
    FROM run_approvals approval JOIN runs run ON run.id = approval.run_id
   WHERE approval.id = $1`;

type ApprovalRow = Omit<ClosedApproval, 'approved'> & {
  approved: boolean | null;
  tooLate: 'cancelled' | 'timed_out' | null;
};

/** How many approvals one sweep closes. */
const OVERDUE_AT_ONCE = 500;

/** Closes approvals, and lets their runs continue. Each in a transaction that locks the run first. */
@Injectable()
export class ApprovalAnswers {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Closes an approval with this answer if it is open and not overdue. Returns what is on record then; undefined if the
   * thread has no such approval.
   * @param record called within the transaction if the answer counts
   */
  answer(
    { organizationId, threadId, approvalId }: ApprovalPlace,
    answer: ApprovalAnswer,
    record: (manager: EntityManager, approval: ClosedApproval) => Promise<void>,
  ): Promise<Answered | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const [run]: { id: string }[] = await manager.query(
        `SELECT id FROM runs WHERE id = (SELECT run_id FROM run_approvals WHERE id = $1)
            AND organization_id = $2 AND thread_id = $3 FOR NO KEY UPDATE`,
        [approvalId, organizationId, threadId],
      );
      if (run === undefined) return undefined;
      // Read under the lock, so that of two answers at once the second one sees the first.
      const [row]: ApprovalRow[] = await manager.query(APPROVAL, [approvalId]);
      if (row === undefined) return undefined;
      const { tooLate, approved, ...approval } = row;
      if (approved !== null) return { approval: { ...approval, approved }, isNew: false, continues: false };
      if (tooLate !== null) {
        const reason = REASONS[tooLate];
        await manager.query(`${CLOSE_APPROVALS} WHERE id = $3`, [tooLate, reason, approvalId]);
        const closed = { ...approval, approved: false, reason, closedAs: tooLate };
        return { approval: closed, isNew: false, continues: await continueRun(manager, run.id) };
      }
      await manager.query(
        `UPDATE run_approvals SET approved = $2, reason = $3, user_id = $4, api_key_id = $5, closed_at = now(),
            closed_as = 'answered'
          WHERE id = $1`,
        [approvalId, answer.approved, answer.reason, answer.userId, answer.apiKeyId],
      );
      const closed = { ...approval, ...answer, closedAs: 'answered' as const };
      await record(manager, closed);
      return { approval: closed, isNew: true, continues: await continueRun(manager, run.id) };
    });
  }

  /** Denies the approvals whose time has passed. Returns how many runs can start now. */
  async closeOverdue(): Promise<number> {
    const runs: { id: string }[] = await this.dataSource.query(
      `SELECT DISTINCT run_id AS id FROM (
         SELECT run_id FROM run_approvals WHERE closed_at IS NULL AND expires_at <= now() ORDER BY expires_at LIMIT $1
       ) overdue`,
      [OVERDUE_AT_ONCE],
    );
    let continuing = 0;
    for (const { id } of runs) {
      const continues = await this.dataSource.transaction(async (manager) => {
        await manager.query('SELECT FROM runs WHERE id = $1 FOR NO KEY UPDATE', [id]);
        await manager.query(`${CLOSE_APPROVALS} WHERE run_id = $3 AND closed_at IS NULL AND expires_at <= now()`, [
          'timed_out',
          REASONS.timed_out,
          id,
        ]);
        return continueRun(manager, id);
      });
      if (continues) continuing++;
    }
    return continuing;
  }
}
