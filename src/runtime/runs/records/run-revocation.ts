import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { HAS_LOST_CREDENTIAL } from './lost-credential.js';
import { endSuspended, IS_SUSPENDED, REASONS } from './approval-closing.js';
import type { RunClaim, RunOutcome } from './run-attempt.js';
import { type FinishedRun, finishRun } from './run-finish.js';

/** Runs without a valid credential that concern one worker. */
export interface RevokedRuns {
  /** Runs that have not started, the last of each thread first. */
  waiting: { runId: string; requestId: string }[];
  /** The ids of runs that wait for approvals, or have waited and are queued again. */
  suspended: string[];
  /** The worker's own runs that must stop. */
  running: string[];
}

const END_SUSPENDED = endSuspended();

/** Finds the runs whose API key was deleted or has expired, and ends those that have not started. */
@Injectable()
export class RunRevocation {
  constructor(
    private readonly dataSource: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /**
   * @param own the attempts of the calling process
   * @param limit maximum number of queued runs to return
   */
  async find(own: readonly RunClaim[], limit: number): Promise<RevokedRuns> {
    const rows: { id: string; requestId: string; state: 'queued' | 'suspended' | 'running' }[] =
      await this.dataSource.query(
        `(SELECT id, request_id AS "requestId", CASE WHEN ${IS_SUSPENDED} THEN 'suspended' ELSE 'queued' END AS state
            FROM runs WHERE status IN ('queued', 'waiting') AND ${HAS_LOST_CREDENTIAL} ORDER BY position DESC LIMIT $2)
         UNION ALL
         SELECT id, request_id, status FROM runs WHERE id = ANY($1) AND status = 'running' AND ${HAS_LOST_CREDENTIAL}`,
        [own.map(({ runId }) => runId), limit],
      );
    const idsIn = (wanted: string): string[] => rows.filter(({ state }) => state === wanted).map(({ id }) => id);
    const waiting = rows.filter(({ state }) => state === 'queued');
    return {
      waiting: waiting.map(({ id: runId, requestId }) => ({ runId, requestId })),
      suspended: idsIn('suspended'),
      running: idsIn('running'),
    };
  }

  /**
   * Denies the open approvals of a suspended run, because its credential is lost, so that a worker can end it; false if
   * it is no longer suspended.
   */
  async endSuspended(runId: string): Promise<boolean> {
    const ended: unknown[] = await this.dataSource.query(END_SUSPENDED, ['poster_gone', REASONS.poster_gone, runId]);
    return ended.length === 1;
  }

  /** Ends a run that has not started; undefined if it has started or ended since. */
  endWaiting(runId: string, outcome: RunOutcome): Promise<FinishedRun | undefined> {
    return finishRun(this.statements, runId, outcome);
  }
}
