import type { EntityManager } from 'typeorm';
import type { ApprovalEnd } from './run-approval.entity.js';

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
export async function continueRun(manager: EntityManager, runId: string): Promise<boolean> {
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
