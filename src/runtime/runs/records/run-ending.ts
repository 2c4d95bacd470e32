import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { plainText } from '../../../core/plain-text.js';
import { ANSWER_ORDINAL } from '../../threads/message.entity.js';
import { functionCall, PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { storedCalls } from './model-call.js';
import type { AnswerState, RunOutcome, RunClaim } from './run-attempt.js';
import type { RunEntity } from './run.entity.js';
import { CLOSE_APPROVALS, endSuspended, REASONS, IS_SUSPENDED } from './approval-closing.js';
import { HAS_LOST_CREDENTIAL } from './lost-credential.js';

/** A run that was ended. */
export interface FinishedRun {
  run: Pick<RunEntity, 'id' | 'organizationId' | 'threadId' | 'messageId' | 'attempt'>;
  /** The next run of its thread can start now. */
  hasNext: boolean;
}

/** The attempt that ends its run, and the final answer; without one, the last stored answer is kept. */
interface FinishingAttempt {
  attempt: number;
  epoch: string;
  model: string | null;
  answer?: AnswerState | undefined;
}

const FINISH = 'run_finish';
const FINISHED = `
  organization AS "organizationId", thread AS "threadId", answer AS "messageId", last_attempt AS attempt,
  next_status IS NOT DISTINCT FROM 'queued' AS "hasNext"`;

type FinishRow = Omit<FinishedRun['run'], 'id'> & Pick<FinishedRun, 'hasNext'>;

const THREAD_STATUS = { completed: 'completed', failed: 'failed', cancelled: 'failed' } as const;

/**
 * Ends an open run, stores its final answer, and advances its thread: to the next queued run, or out of `in_progress`.
 * One transaction, the function `run_finish`; an attempt can repeat the call.
 * @param attempt only if this is still the current attempt; undefined ends a queued run that has asked for no
 *   approval
 * @returns undefined when the run was deleted, had ended before, or belongs to another attempt
 */
export async function finishRun(
  statements: PreparedStatements,
  runId: string,
  { status, error, finishReason }: RunOutcome,
  attempt?: FinishingAttempt,
): Promise<FinishedRun | undefined> {
  const { answer } = attempt ?? {};
  const { call, values } = functionCall(FINISH, {
    _run: runId,
    _attempt: attempt?.attempt ?? null,
    _epoch: attempt?.epoch ?? null,
    _status: status,
    _thread_status: THREAD_STATUS[status],
    _error: error && JSON.stringify({ code: error.code, message: plainText(error.message) }),
    _finish_reason: finishReason,
    _step: answer?.step ?? null,
    _usage: answer === undefined ? null : JSON.stringify(answer.usage),
    _model: attempt?.model ?? null,
    _parts: answer === undefined ? null : JSON.stringify(answer.parts),
    _metadata: answer === undefined ? null : JSON.stringify(answer.metadata),
    _ordinal: ANSWER_ORDINAL,
    _cost: answer?.costUsd ?? null,
    _model_calls: answer === undefined ? null : storedCalls(answer.modelCalls),
  });
  const text = `SELECT ${FINISHED} FROM ${call}`;
  const [row] = await statements.rows<FinishRow>({ name: FINISH, text }, values);
  if (row === undefined) return undefined;
  const { hasNext, ...run } = row;
  return { run: { id: runId, ...run }, hasNext };
}

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
