import type { FinishReason } from 'ai';
import type { RunOutcome } from '../runs/records/run-attempt.js';
import { denyGatedCalls, type AttemptApprovals } from './settle-tool-calls.js';
import type { RunAnswer } from './run-answer.js';

/** How an answer and its run end. */
export type Conclusion = Omit<RunOutcome, 'finishReason'> & { finishReason: FinishReason | null };

/**
 * Streams the last chunks of an answer, `finish`, `error` or `abort` by the run's outcome, and stores it with the end
 * of the run. The stream stays open until then, so that `[DONE]` means that the record can be read.
 * @returns whether the next run of the thread can start now
 */
export async function concludeAnswer(
  answer: RunAnswer,
  approvals: AttemptApprovals,
  conclusion: Conclusion,
): Promise<boolean> {
  const { status, error, finishReason, output } = conclusion;
  const facts = { model: answer.model, usage: answer.totalUsage };
  // An earlier attempt can have streamed another object, with which this one would be merged.
  if (answer.metadata?.['output'] !== undefined) {
    await answer.append({ type: 'message-metadata', messageMetadata: { output: null } });
  }
  if (status === 'completed') {
    const reason = finishReason ?? 'other';
    const messageMetadata = { ...facts, finishReason: reason, ...(output !== undefined && { output }) };
    if (output !== undefined) await answer.append({ type: 'data-output', transient: true, data: output });
    await answer.append({ type: 'finish', finishReason: reason, messageMetadata });
  } else {
    await closeOpenParts(answer, approvals, status);
    if (status === 'cancelled') {
      await answer.append({ type: 'message-metadata', messageMetadata: { ...facts, aborted: true } });
      await answer.append({ type: 'abort', reason: 'cancelled' });
    } else {
      const failure = { finishReason: 'error', ...(error && { error: { code: error.code, message: error.message } }) };
      await answer.append({ type: 'message-metadata', messageMetadata: { ...facts, ...failure } });
      await answer.append({ type: 'error', errorText: error?.message ?? 'The run failed.' });
    }
  }
  return answer.finish(conclusion);
}

/**
 * Gives pending tool calls an error outcome, so that the message does not wait for them forever. Readers may have
 * started a step that the live buffer has since lost; the answer then starts it too.
 */
async function closeOpenParts(
  answer: RunAnswer,
  approvals: AttemptApprovals,
  status: 'failed' | 'cancelled',
): Promise<void> {
  const errorText = `The run ${status === 'failed' ? 'failed' : 'was cancelled'} before the tool returned a result.`;
  const pending = answer.pendingToolCalls();
  const isSettled = pending.length + answer.gatedToolCalls().length === 0;
  if (answer.isResumed && isSettled && !answer.hasOpenStep) await answer.append({ type: 'start-step' });
  for (const { toolCallId } of pending) {
    await answer.append({ type: 'tool-output-error', toolCallId, errorText, dynamic: true });
  }
  // A denial begins the next answer of the run, and these calls belong to the one before.
  await denyGatedCalls(answer, approvals, status, errorText);
}
