import type { RunAnswer } from './run-answer.js';

const NOT_CALLED = 'The call was not made, because a message of the user interrupted the step.';
const OUTCOME_UNKNOWN = 'A message of the user interrupted this call, and its outcome is unknown.';

/** Ends what a model has begun to say: the parts so far stay, and no call of the step is made. */
export async function closeModelCall(answer: RunAnswer): Promise<void> {
  await answer.endTexts();
  for (const part of answer.parts()) {
    if (part.type !== 'dynamic-tool' || part.state !== 'input-streaming') continue;
    const { toolCallId, toolName, input = {} } = part;
    const failed = { toolCallId, toolName, input, errorText: NOT_CALLED, dynamic: true };
    await answer.append({ type: 'tool-input-error', ...failed });
  }
  await failCalls(answer, NOT_CALLED);
}

/** Ends the calls of a step that have no outcome. Requests for approvals stay open. */
export async function closeToolCalls(answer: RunAnswer): Promise<void> {
  await failCalls(answer, OUTCOME_UNKNOWN);
}

async function failCalls(answer: RunAnswer, errorText: string): Promise<void> {
  const approved = answer.gatedToolCalls().filter(({ isRequested }) => !isRequested);
  for (const { toolCallId } of [...answer.pendingToolCalls(), ...approved]) {
    await answer.append({ type: 'tool-output-error', toolCallId, errorText, dynamic: true });
  }
}
