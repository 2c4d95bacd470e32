import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { PreparedStatements } from '../../database/prepared-statements.js';
import type { RunOutcome } from './run-attempt.js';
import { type FinishedRun, finishRun } from './run-finish.js';

const CANCELLED: RunOutcome = { status: 'cancelled', error: null, finishReason: null };

/** Records cancellations. */
@Injectable()
export class RunCancelling {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /** Ends a run that has not started; undefined if it has. */
  cancelQueued(runId: string): Promise<FinishedRun | undefined> {
    return finishRun(this.statements, runId, CANCELLED);
  }

  /** Asks a running run to stop; false if it is not running. */
  async requestStop(runId: string): Promise<boolean> {
    const [, count]: [unknown[], number] = await this.dataSource.query(
      `UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now()
        WHERE id = $1 AND status = 'running'`,
      [runId],
    );
    return count === 1;
  }
}
