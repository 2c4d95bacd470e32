import type { DataSource } from 'typeorm';
import { RUN_COLUMNS, type RunRow } from './new-run.js';
import type { RunOutcome } from './run-attempt.js';
import type { RunStatus } from './run.entity.js';

/** The run that may start, and the attempt that its job is for. */
export interface NextRun {
  runId: string;
  attempt: number;
}

/** A run that was ended, and the one of its thread that may start now. */
export interface FinishedRun {
  run: RunRow;
  next: NextRun | undefined;
}

const THREAD_STATUS = { completed: 'completed', failed: 'failed', cancelled: 'failed' } as const;

/**
 * Ends a run that is not ended yet and moves its thread on: to the next waiting run, or out of `in_progress`.
 * @param attempt only if this is still the current attempt; undefined ends a run that is still queued
 * @returns undefined when the run is gone, was ended before, or is another attempt's
 */
export function finishRun(
  dataSource: DataSource,
  runId: string,
  outcome: RunOutcome,
  attempt?: number,
): Promise<FinishedRun | undefined> {
  return dataSource.transaction(async (manager) => {
    // The thread's lock comes first, as in posting, so that the two never wait for each other.
    await manager.query(
      `SELECT 1 FROM threads t JOIN runs r ON r.organization_id = t.organization_id AND r.thread_id = t.id
        WHERE r.id = $1 FOR UPDATE OF t`,
      [runId],
    );
    const [rows]: [RunRow[], number] = await manager.query(
      `UPDATE runs SET status = $2, error = $3, finish_reason = $4, finished_at = now(), updated_at = now(),
                       attempt = CASE WHEN status = 'queued' THEN attempt + 1 ELSE attempt END
        WHERE id = $1 AND ${attempt === undefined ? "status = 'queued'" : "status IN ('queued', 'running') AND attempt = $5"}
        RETURNING ${RUN_COLUMNS}`,
      [
        runId,
        outcome.status,
        outcome.error === null ? null : JSON.stringify(outcome.error),
        outcome.finishReason,
        ...(attempt === undefined ? [] : [attempt]),
      ],
    );
    const run = rows[0];
    if (run === undefined) return undefined;
    const waiting: (NextRun & { status: RunStatus })[] = await manager.query(
      `WITH next AS (
         SELECT id, attempt, status FROM runs
          WHERE organization_id = $1 AND thread_id = $2 AND status IN ('queued', 'running') ORDER BY position LIMIT 1
       ), thread AS (
         UPDATE threads SET status = CASE WHEN EXISTS (SELECT FROM next) THEN 'in_progress' ELSE $3 END, updated_at = now()
          WHERE organization_id = $1 AND id = $2
       )
       SELECT id AS "runId", attempt + 1 AS attempt, status FROM next`,
      [run.organizationId, run.threadId, THREAD_STATUS[outcome.status]],
    );
    const next = waiting[0];
    return { run, next: next?.status === 'queued' ? { runId: next.runId, attempt: next.attempt } : undefined };
  });
}
