import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ANSWER_ORDINAL } from '../../threads/message.entity.js';
import { storedCalls } from './model-call.js';
import { HAS_SPEND_LIMIT } from './new-run.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { type AnswerState, type RunClaim, type RunOutcome, StaleAttemptError } from './run-attempt.js';
import { finishRun } from './run-ending.js';

export const SAVE_ANSWER = {
  name: 'run_save_answer',
  text: `
    WITH fenced AS (
      UPDATE runs SET step = $3, usage = $4, model = $5, cost_usd = $9, model_calls = $10, heartbeat_at = now(),
        updated_at = now()
       WHERE id = $1 AND attempt = $2 AND epoch = $8 AND status = 'running' RETURNING *
    ), answer AS (
      INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
      SELECT organization_id, thread_id, message_id, id, position, ${ANSWER_ORDINAL}, 'assistant', $6::json, $7::json
        FROM fenced
      ON CONFLICT (organization_id, thread_id, id)
        DO UPDATE SET parts = excluded.parts, metadata = excluded.metadata, updated_at = now()
    )
    SELECT cancel_requested_at IS NOT NULL AS "cancelRequested", steers > steers_taken AS "hasSteers",
           ${HAS_SPEND_LIMIT} AS "hasSpendLimit"
      FROM fenced AS runs`,
};

/** What a worker learns when it stores an answer. */
export interface SavedAnswer {
  /** The run was asked to stop. */
  cancelRequested: boolean;
  /** Messages wait that the run has not taken. */
  hasSteers: boolean;
  /** The run has to reserve its model calls. */
  hasSpendLimit: boolean;
}

/** The values of `SAVE_ANSWER`. */
export function answerValues(
  { runId, attempt, epoch }: RunClaim,
  model: string | null,
  answer: AnswerState,
): unknown[] {
  return [
    runId,
    attempt,
    answer.step,
    JSON.stringify(answer.usage),
    model,
    JSON.stringify(answer.parts),
    JSON.stringify(answer.metadata),
    epoch,
    answer.costUsd,
    storedCalls(answer.modelCalls),
  ];
}

interface HeartbeatRow extends Omit<SavedAnswer, 'hasSpendLimit'> {
  id: string;
  lastInterrupting: number | null;
}

/** What a heartbeat finds. */
interface Heartbeat {
  cancelled: RunClaim[];
  stale: RunClaim[];
  /** With the number of the last message that interrupts. */
  steered: { runId: string; lastInterrupting: number | null }[];
}

/** The worker's writes to a run. The claim fences every write. */
@Injectable()
export class RunExecution {
  constructor(
    private readonly dataSource: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /**
   * Stores the answer so far.
   * @throws StaleAttemptError
   */
  async saveAnswer(claim: RunClaim, model: string | null, answer: AnswerState): Promise<SavedAnswer> {
    const [saved] = await this.statements.rows<SavedAnswer>(SAVE_ANSWER, answerValues(claim, model, answer));
    if (saved === undefined) throw new StaleAttemptError(claim);
    return saved;
  }

  /**
   * Stores the final answer, ends the run and advances the thread, in one transaction. The call can be repeated.
   * Returns whether the thread's next run can start now.
   * @param answer undefined keeps the last stored answer
   * @throws StaleAttemptError
   */
  async finish(
    claim: RunClaim,
    model: string | null,
    answer: AnswerState | undefined,
    outcome: RunOutcome,
  ): Promise<boolean> {
    const { runId, attempt, epoch } = claim;
    const finished = await finishRun(this.statements, runId, outcome, { attempt, epoch, model, answer });
    if (finished === undefined) throw new StaleAttemptError(claim);
    return finished.hasNext;
  }

  /**
   * Records a heartbeat of these attempts. Returns those that must stop: `cancelled` were asked to, `stale` are no
   * longer current; and those for which messages wait.
   */
  async heartbeat(claims: readonly RunClaim[]): Promise<Heartbeat> {
    const [rows]: [HeartbeatRow[], number] = await this.dataSource.query(
      `UPDATE runs SET heartbeat_at = now()
         FROM unnest($1::uuid[], $2::int[], $3::text[]) AS claim (run_id, attempt, epoch)
        WHERE runs.id = claim.run_id AND runs.attempt = claim.attempt AND runs.epoch = claim.epoch
          AND runs.status = 'running'
        RETURNING runs.id, cancel_requested_at IS NOT NULL AS "cancelRequested", steers > steers_taken AS "hasSteers",
          CASE WHEN steers > steers_taken THEN (
            SELECT max(number) FROM run_steers
             WHERE run_steers.run_id = runs.id AND number > steers_taken AND interrupts) END AS "lastInterrupting"`,
      [claims.map(({ runId }) => runId), claims.map(({ attempt }) => attempt), claims.map(({ epoch }) => epoch)],
    );
    const alive = new Map(rows.map((row) => [row.id, row]));
    return {
      cancelled: claims.filter(({ runId }) => alive.get(runId)?.cancelRequested),
      stale: claims.filter(({ runId }) => !alive.has(runId)),
      steered: rows
        .filter(({ hasSteers }) => hasSteers)
        .map(({ id: runId, lastInterrupting }) => ({ runId, lastInterrupting })),
    };
  }

  /**
   * Gives up an attempt so that another one can begin at once. False if the attempt is no longer current.
   * @param options.failed counts the attempt as lost; an attempt that a worker gives up in good order does not count
   */
  async release({ runId, attempt, epoch }: RunClaim, { failed = false } = {}): Promise<boolean> {
    const [, count]: [unknown[], number] = await this.dataSource.query(
      `UPDATE runs SET heartbeat_at = '-infinity', yields = yields + $4
        WHERE id = $1 AND attempt = $2 AND epoch = $3 AND status = 'running'`,
      [runId, attempt, epoch, failed ? 0 : 1],
    );
    return count === 1;
  }

  /** Gives up the attempt that a request may have started although its response was lost. */
  async releaseUnknown(epoch: string): Promise<void> {
    await this.dataSource.query(
      `UPDATE runs SET heartbeat_at = '-infinity' WHERE epoch = $1 AND attempt = 1 AND status = 'running'`,
      [epoch],
    );
  }

  /**
   * Gives up an attempt so that another holder's run can start in its place; the run waits for its next turn. False if
   * it was asked to stop meanwhile, or the attempt is no longer current.
   */
  async yield({ runId, attempt, epoch }: RunClaim): Promise<boolean> {
    const [, count]: [unknown[], number] = await this.dataSource.query(
      `UPDATE runs SET status = 'queued', turn_at = now(), heartbeat_at = now(), updated_at = now(), yields = yields + 1
        WHERE id = $1 AND attempt = $2 AND epoch = $3 AND status = 'running' AND cancel_requested_at IS NULL`,
      [runId, attempt, epoch],
    );
    return count === 1;
  }

  /**
   * Gives up an attempt until all approvals of the run are closed. The time until then is not counted. False if they
   * are closed already, the run was asked to stop meanwhile, or the attempt is no longer current.
   */
  async wait({ runId, attempt, epoch }: RunClaim): Promise<boolean> {
    const [row]: { waits: boolean }[] = await this.dataSource.query('SELECT run_wait($1, $2, $3) AS waits', [
      runId,
      attempt,
      epoch,
    ]);
    return row?.waits === true;
  }
}
