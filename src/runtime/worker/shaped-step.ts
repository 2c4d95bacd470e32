import type { UIMessage } from 'ai';
import type { ConversationMessage } from '../files/model-files.js';
import type { AnswerObject } from '../runs/records/run.entity.js';
import { type AnswerShape, OutputInvalidError } from './answer-shape.js';
import type { ModelStepResult } from './model-step.js';
import { endsWithToolCalls } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import { usableParts } from './usable-history.js';

/**
 * Makes a step of an agent with an output schema. If it is the last one and its answer does not fit, the answer is
 * taken back, and the model is called once more with what is wrong with it.
 * @param step.call calls the model; the messages follow the answer so far
 * @param step.takeBack takes the open step of the answer back
 * @throws OutputInvalidError if the next answer does not fit either, also after further steps; it stays in the
 * transcript
 */
export async function makeShapedStep(
  shape: AnswerShape,
  answer: RunAnswer,
  step: {
    call(correction: readonly ConversationMessage[]): Promise<ModelStepResult>;
    takeBack(): Promise<void>;
  },
  correction: readonly ConversationMessage[] = [],
): Promise<ModelStepResult> {
  const result = await step.call(correction).catch((error: unknown) => {
    // After an interruption, the run goes on with another message.
    shape.isCorrecting = false;
    throw error;
  });
  if (endsWithToolCalls(answer.parts())) return result;
  const text = lastText(answer.parts());
  const checked = await shape.check(text).catch((error: unknown) => {
    answer.countUsage(result.usage);
    throw error;
  });
  if ('output' in checked) return result;
  answer.countUsage(result.usage);
  if (shape.isCorrecting) throw unfit(checked.faults);
  shape.isCorrecting = true;
  await step.takeBack();
  return makeShapedStep(shape, answer, step, correctionOf(text, checked.faults));
}

/**
 * The object of an answer after its last step.
 * @throws OutputInvalidError if there is none
 */
export async function requireOutput(shape: AnswerShape, parts: UIMessage['parts']): Promise<AnswerObject> {
  if (endsWithToolCalls(parts)) throw new OutputInvalidError('The run reached its limit of steps before its answer.');
  // An earlier attempt can have checked it against another schema.
  const checked = await shape.check(lastText(parts));
  if ('output' in checked) return checked.output;
  throw unfit(checked.faults);
}

function unfit(faults: string): OutputInvalidError {
  return new OutputInvalidError(`The answer does not fit the output schema of the agent. ${faults}`);
}

/** The text of the last step. */
function lastText(parts: UIMessage['parts']): string {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts
    .slice(start + 1)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

function correctionOf(text: string, faults: string): ConversationMessage[] {
  const request = `Your answer was not accepted. ${faults} Answer again, with the corrected JSON object only.`;
  const answered = usableParts([{ type: 'text', text }]);
  const asked = usableParts([{ type: 'text', text: request }]);
  const user: ConversationMessage = { id: '', role: 'user', parts: asked, isRequest: false };
  return answered.length === 0 ? [user] : [{ id: '', role: 'assistant', parts: answered, isRequest: false }, user];
}
