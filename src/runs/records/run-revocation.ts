import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PreparedStatements } from '../../database/prepared-statements.js';
import { HAS_LOST_CREDENTIAL } from './lost-credential.js';
import { endSuspended, REASONS } from './approval-closing.js';
import type { RunClaim, RunOutcome } from './run-attempt.js';
import { type FinishedRun, finishRun, type NextRun } from './run-finish.js';

/** Runs without a valid credential that concern one worker. */
export interface RevokedRuns {
  /** Runs that have not started, the last of each thread first. */
  waiting: { runId: string; requestId: string }[];
  /** The worker's own runs that must stop. */
  running: string[];
}

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
    const rows: { id: string; requestId: string; status: 'queued' | 'running' }[] = await this.dataSource.query(
      `(SELECT id, request_id AS "requestId", status FROM runs WHERE status = 'queued' AND ${HAS_LOST_CREDENTIAL} ORDER BY position DESC LIMIT $2)
       UNION ALL
       SELECT id, request_id, status FROM runs WHERE id = ANY($1) AND status = 'running' AND ${HAS_LOST_CREDENTIAL}`,
      [own.map(({ runId }) => runId), limit],
    );
    const waiting = rows.filter(({ status }) => status === 'queued');
    const running = rows.filter(({ status }) => status === 'running');
    return {
      waiting: waiting.map(({ id: runId, requestId }) => ({ runId, requestId })),
      running: running.map(({ id }) => id),
    };
  }

  /**
   * Takes runs that wait for approvals, or have waited and are queued again, out of their waiting if their credential is lost. Returns
   * the attempts that end them.
   */
  endSuspended(): Promise<NextRun[]> {
    return this.dataSource.query(endSuspended(HAS_LOST_CREDENTIAL), ['poster_gone', REASONS.poster_gone]);
  }

  /** Ends a run that has not started; undefined if it has started or ended since. */
  endWaiting(runId: string, outcome: RunOutcome): Promise<FinishedRun | undefined> {
    return finishRun(this.statements, runId, outcome);
  }
}
