import { plainText } from '../../../core/plain-text.js';
import { ANSWER_ORDINAL } from '../../threads/message.entity.js';
import { functionCall, type PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { storedCalls } from './model-call.js';
import type { AnswerState, RunOutcome } from './run-attempt.js';
import type { RunEntity } from './run.entity.js';

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
