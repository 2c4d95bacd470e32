import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { CLOSE_APPROVALS, endSuspended, REASONS } from './approval-closing.js';
import type { RunOutcome } from './run-attempt.js';
import { type FinishedRun, finishRun } from './run-finish.js';

const CANCELLED: RunOutcome = { status: 'cancelled', error: null, finishReason: null };

const CANCEL_SUSPENDED = endSuspended('cancel_requested_at = coalesce(cancel_requested_at, now()),');

/** Records cancellations. */
@Injectable()
export class RunCancelling {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /** Ends a queued run; undefined if it is not queued, or has asked for approvals. */
  cancelQueued(runId: string): Promise<FinishedRun | undefined> {
    return finishRun(this.statements, runId, CANCELLED);
  }

  /**
   * Cancels a run that waits for approvals, or has waited and is queued again: denies what is open, so that a worker
   * can end its answer. False if the run is not in such a state.
   */
  async cancelSuspended(runId: string): Promise<boolean> {
    const ended: unknown[] = await this.dataSource.query(CANCEL_SUSPENDED, ['cancelled', REASONS.cancelled, runId]);
    return ended.length === 1;
  }

  /** Asks a running run to stop, and denies its open approvals; false if it is not running. */
  async requestStop(runId: string): Promise<boolean> {
    const stopped: unknown[] = await this.dataSource.query(
      `WITH stopped AS (
         UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now()
          WHERE id = $3 AND status = 'running' RETURNING id
       ), closed AS (
         ${CLOSE_APPROVALS} FROM stopped WHERE run_id = stopped.id AND closed_at IS NULL
       )
       SELECT id FROM stopped`,
      ['cancelled', REASONS.cancelled, runId],
    );
    return stopped.length === 1;
  }
}
