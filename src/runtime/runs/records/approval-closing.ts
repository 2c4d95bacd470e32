import { type EntityManager, DataSource } from 'typeorm';
import { Injectable } from '@nestjs/common';
import type { ApprovalEnd, RunApprovalEntity } from './run-approval.entity.js';

/** The reasons of denials that nobody gave. */
export const REASONS: Readonly<Record<Exclude<ApprovalEnd, 'answered'>, string>> = {
  timed_out: 'timed out',
  cancelled: 'cancelled',
  poster_gone: 'poster gone',
  ended: 'the run ended',
};

/** Denies approvals. Values: how they end, the reason. */
export const CLOSE_APPROVALS =
  'UPDATE run_approvals SET approved = false, closed_at = now(), closed_as = $1, reason = $2';

const NO_LONGER_WAITS = `updated_at = now(), waiting_since = NULL,
  waited_ms = waited_ms + coalesce(extract(epoch FROM now() - waiting_since) * 1000, 0)::bigint`;

/**
 * Queues a waiting run if all its approvals are closed; it waits for a slot like any other. The caller has locked the
 * run. Returns whether it can start once the transaction is committed.
 */
async function continueRun(manager: EntityManager, runId: string): Promise<boolean> {
  const [, count]: [unknown[], number] = await manager.query(
    `UPDATE runs SET status = 'queued', turn_at = now(), heartbeat_at = now(), ${NO_LONGER_WAITS}
      WHERE id = $1 AND status = 'waiting'
        AND NOT EXISTS (SELECT FROM run_approvals WHERE run_id = $1 AND closed_at IS NULL)`,
    [runId],
  );
  return count === 1;
}

/** True if a run has requested approvals and has no worker. Its answer then exists, and a worker has to end it. */
export const IS_SUSPENDED = `status IN ('waiting', 'queued')
  AND (status = 'waiting' OR EXISTS (SELECT FROM run_approvals WHERE run_id = runs.id))`;

/**
 * Takes a suspended run out of its waiting, denies its open approvals, and returns its id. The run has the state of one
 * that a worker has given up, so the attempt that ends it needs no turn: it calls no model and no tool. Values: how the
 * approvals end, the reason, the run.
 * @param changes further assignments
 */
export const endSuspended = (changes = ''): string => `
  WITH ended AS (
    UPDATE runs SET status = 'running', heartbeat_at = '-infinity', ${changes} ${NO_LONGER_WAITS}
     WHERE id = $3 AND ${IS_SUSPENDED}
     RETURNING id
  ), closed AS (
    ${CLOSE_APPROVALS} FROM ended WHERE run_id = ended.id AND closed_at IS NULL
  )
  SELECT id FROM ended`;

/** Where the run is that has asked. */
interface AnsweredThread {
  readonly organizationId: string;
  readonly threadId: string;
}

/** An answer to one request. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason: string | null;
}

/** Who answers. */
interface Answerer {
  readonly userId: string | null;
  readonly apiKeyId: string | null;
}

/** An approval after its closing. */
export type ClosedApproval = Pick<
  RunApprovalEntity,
  'id' | 'runId' | 'toolName' | 'reason' | 'closedAs' | 'userId' | 'apiKeyId'
> & { readonly approved: boolean };

/** What came of answers to the approvals of one run. */
interface Answered {
  readonly runId: string;
  /** The first approval for which another answer counts: then none of the answers is on record. */
  readonly refused: ClosedApproval | undefined;
  /** The run can start now. */
  readonly continues: boolean;
}

const APPROVALS = `
  SELECT approval.id, approval.run_id AS "runId", tool_name AS "toolName", approved, reason, closed_as AS "closedAs",
         approval.user_id AS "userId", approval.api_key_id AS "apiKeyId",
         CASE WHEN closed_at IS NOT NULL THEN NULL
              WHEN run.cancel_requested_at IS NOT NULL THEN 'cancelled'
              WHEN expires_at <= now() THEN 'timed_out' END AS "tooLate"
    FROM run_approvals approval JOIN runs run ON run.id = approval.run_id
   WHERE approval.run_id = $1 AND approval.id = ANY ($2)`;

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
   * Closes the approvals of one run with these answers: all of them, or none if another answer counts for one. One that
   * is overdue is denied in any case. The same answer by the same caller again changes nothing.
   * @param record called within the transaction for each answer that is new
   * @returns undefined if the thread has no run with all these approvals
   */
  answer(
    { organizationId, threadId }: AnsweredThread,
    answers: readonly ApprovalAnswer[],
    answerer: Answerer,
    record: (manager: EntityManager, approval: ClosedApproval) => Promise<void>,
  ): Promise<Answered | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const ids = answers.map(({ approvalId }) => approvalId);
      const [run]: { id: string }[] = await manager.query(
        `SELECT id FROM runs WHERE id = (SELECT run_id FROM run_approvals WHERE id = $1)
            AND organization_id = $2 AND thread_id = $3 FOR NO KEY UPDATE`,
        [ids[0], organizationId, threadId],
      );
      if (run === undefined) return undefined;
      // Read under the lock, so that of two answers at once the second one sees the first.
      const rows: ApprovalRow[] = await manager.query(APPROVALS, [run.id, ids]);
      const known = new Map(rows.map((row) => [row.id, row]));
      if (ids.some((id) => !known.has(id))) return undefined;
      let refused: ClosedApproval | undefined;
      const open: ClosedApproval[] = [];
      for (const answer of answers) {
        const { tooLate, approved, ...approval } = known.get(answer.approvalId) as ApprovalRow;
        if (tooLate !== null) {
          const reason = REASONS[tooLate];
          await manager.query(`${CLOSE_APPROVALS} WHERE id = $3`, [tooLate, reason, approval.id]);
          refused ??= { ...approval, approved: false, reason, closedAs: tooLate };
        } else if (approved === null) {
          const { approvalId: _, ...verdict } = answer;
          open.push({ ...approval, ...verdict, ...answerer, closedAs: 'answered' });
        } else if (!isSameAnswer({ ...approval, approved }, answer, answerer)) refused ??= { ...approval, approved };
      }
      if (refused === undefined) {
        for (const approval of open) {
          await manager.query(
            `UPDATE run_approvals SET approved = $2, reason = $3, user_id = $4, api_key_id = $5, closed_at = now(),
                closed_as = 'answered'
              WHERE id = $1`,
            [approval.id, approval.approved, approval.reason, approval.userId, approval.apiKeyId],
          );
          await record(manager, approval);
        }
      }
      return { runId: run.id, refused, continues: await continueRun(manager, run.id) };
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

/** Callers are the same if they are the same person, or the same key of the organization. */
function isSameAnswer(
  recorded: ClosedApproval,
  { approved, reason }: ApprovalAnswer,
  { userId, apiKeyId }: Answerer,
): boolean {
  const isSameCaller = recorded.userId === userId && (userId !== null || recorded.apiKeyId === apiKeyId);
  const isSame = recorded.approved === approved && recorded.reason === reason;
  return recorded.closedAs === 'answered' && isSameCaller && isSame;
}
