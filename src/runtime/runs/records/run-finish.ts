import { plainText } from '../../../core/plain-text.js';
import { ANSWER_ORDINAL } from '../../threads/message.entity.js';
import type { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { storedCalls } from './model-call.js';
import type { AnswerState, RunOutcome } from './run-attempt.js';
import type { RunEntity, RunStatus } from './run.entity.js';

/** The run that can start, and the attempt that its job is for. */
export interface NextRun {
  runId: string;
  attempt: number;
}

/** A run that was ended, and the run of its thread that can start now. */
export interface FinishedRun {
  run: Pick<RunEntity, 'id' | 'organizationId' | 'threadId' | 'messageId' | 'attempt'>;
  next: NextRun | undefined;
}

/** The attempt that ends its run, and the final answer; without one, the last stored answer is kept. */
interface FinishingAttempt {
  attempt: number;
  epoch: string;
  model: string | null;
  answer?: AnswerState | undefined;
}

const FINISH = {
  name: 'run_finish',
  text: `SELECT organization AS "organizationId", thread AS "threadId", answer AS "messageId", last_attempt AS attempt,
                next_run AS "nextRunId", next_attempt AS "nextAttempt", next_status AS "nextStatus"
           FROM run_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
};

type FinishRow = Omit<FinishedRun['run'], 'id'> & {
  nextRunId: string | null;
  nextAttempt: number;
  nextStatus: RunStatus;
};

const THREAD_STATUS = { completed: 'completed', failed: 'failed', cancelled: 'failed' } as const;

/**
 * Ends an open run, stores its final answer, and advances its thread: to the next queued run, or out of `in_progress`.
 * One transaction, the function `run_finish` (migration 1763700000690); an attempt can repeat the call.
 * @param attempt only if this is still the current attempt; undefined ends a run that is still queued and has no answer
 * @returns undefined when the run was deleted, had ended before, or belongs to another attempt
 */
export async function finishRun(
  statements: PreparedStatements,
  runId: string,
  { status, error, finishReason }: RunOutcome,
  attempt?: FinishingAttempt,
): Promise<FinishedRun | undefined> {
  const { answer } = attempt ?? {};
  const [row] = await statements.rows<FinishRow>(FINISH, [
    runId,
    attempt?.attempt ?? null,
    attempt?.epoch ?? null,
    status,
    THREAD_STATUS[status],
    error && JSON.stringify({ code: error.code, message: plainText(error.message) }),
    finishReason,
    answer?.step ?? null,
    answer === undefined ? null : JSON.stringify(answer.usage),
    attempt?.model ?? null,
    answer === undefined ? null : JSON.stringify(answer.parts),
    answer === undefined ? null : JSON.stringify(answer.metadata),
    ANSWER_ORDINAL,
    answer?.costUsd ?? null,
    answer === undefined ? null : storedCalls(answer.modelCalls),
  ]);
  if (row === undefined) return undefined;
  const { nextRunId, nextAttempt, nextStatus, ...run } = row;
  const waits = nextRunId !== null && nextStatus === 'queued';
  return { run: { id: runId, ...run }, next: waits ? { runId: nextRunId, attempt: nextAttempt } : undefined };
}
