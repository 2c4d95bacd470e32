import type { FinishReason } from 'ai';
import type { AgentTool } from '../../agents/agent-toolset.js';
import type { TierModel } from '../../agents/models/models.service.js';
import type { ConversationMessage } from '../files/model-files.js';
import { INTERRUPTED } from '../../platform/telemetry/names.js';
import type { RunObservation } from '../../platform/telemetry/run-telemetry.js';
import { type ModelStepInput, type ModelStepResult, streamModelStep } from './model-step.js';
import type { CallableTools } from './callable-tools.js';
import { endsWithToolCalls } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import type { RunFiles } from './run-files.js';
import { isOfFiles, type RunModels } from './run-models.js';
import { type AnswerShape, makeShapedStep } from './answer-shape.js';
import { usableMessageParts, usableParts } from './usable-history.js';
import type { ModelCall } from '../runs/records/model-call.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { describeRunFailure } from './run-failure.js';
import { saveStep, settleToolCalls, type ToolCallSettlement, type AttemptApprovals } from './settle-tool-calls.js';
import { type AttemptSteering, withSteersInPlace } from './attempt-steering.js';
import type { CallRecordings } from './recording/call-recorder.js';

/** What an agent uses during one attempt. */
export interface AgentLoopInput {
  models: RunModels;
  instructions: string;
  history: readonly ConversationMessage[];
  files: RunFiles;
  /** All tools of the agent, which calls can reach. */
  tools: readonly AgentTool[];
  callable: CallableTools;
  temperature: number | null;
  /** The shape of its last answer; undefined if it answers freely. */
  shape: AnswerShape | undefined;
  maxSteps: number;
  /** How long somebody can answer a request for an approval, in seconds. */
  approvalTimeoutS: number;
  approvals: AttemptApprovals;
  steering: AttemptSteering;
  /** Called between two steps. */
  shouldYield(): Promise<boolean>;
  observation: RunObservation;
  /** Undefined if the organization records no model calls. */
  recordings: CallRecordings | undefined;
}

/**
 * Calls the model and its tools in turn until the model calls no more tools or reaches the step limit. The model's step
 * is stored before its tools are called, and each tool outcome before the next step. While calls of a step need an
 * approval, the attempt stops with the reason `waiting`. The last step is stored with the end of the run. Messages that
 * come up meanwhile are taken before each call of the model; one that interrupts ends the current step.
 * @returns why the last model call ended
 */
export async function runAgentLoop(
  input: AgentLoopInput,
  answer: RunAnswer,
  control: RunAttemptControl,
): Promise<FinishReason> {
  const tools = new Map(input.tools.map((tool) => [tool.name, tool]));
  const { observation, callable } = input;
  const { signal } = control;
  const { approvals, approvalTimeoutS, files, steering, shape } = input;
  const settlement = { tools, approvals, approvalTimeoutS, files, control, observation };
  const isUnsettled = answer.pendingToolCalls().length + answer.gatedToolCalls().length > 0;
  if (isUnsettled && !answer.hasOpenStep) {
    await settleUnlessInterrupted(answer, settlement, steering, true);
    await answer.push({ type: 'finish-step' });
  }
  await callable.record(answer);
  let finishReason: FinishReason = 'stop';
  let wasInterrupted = false;
  for (;;) {
    const isFull = answer.finishedSteps >= input.maxSteps;
    const isUnanswered = !isFull && (await steering.hear(answer));
    const isUnfinished = answer.finishedSteps === 0 || answer.hasOpenStep || endsWithToolCalls(answer.parts());
    if (isFull && isUnfinished) return 'tool-calls';
    if (isFull || !(isUnfinished || isUnanswered || wasInterrupted)) return finishReason;
    const step = await unlessInterrupted(answer, steering, signal, (stepSignal) => {
      const toolSet = callable.toolSet(answer.parts());
      const call = (correction: readonly ConversationMessage[]): Promise<ModelStepResult> =>
        callModels({ ...input, correction, tools: toolSet, signal: stepSignal }, answer, observation);
      const takeBack = (): Promise<void> => steering.resetStep(answer);
      return shape === undefined ? call([]) : makeShapedStep(shape, answer, { call, takeBack });
    });
    wasInterrupted = step === undefined;
    if (wasInterrupted && !answer.hasOpenStep) continue;
    finishReason = step?.finishReason ?? 'other';
    answer.countStep(step?.usage);
    if (endsWithToolCalls(answer.parts())) {
      await saveStep(answer, settlement);
      if (answer.stopWasRequested) control.stop('cancelled');
      signal.throwIfAborted();
      await settleUnlessInterrupted(answer, settlement, steering, false);
      await callable.record(answer);
    }
    await answer.push({ type: 'finish-step' });
    if (answer.finishedSteps < input.maxSteps && endsWithToolCalls(answer.parts()) && (await input.shouldYield())) {
      control.stop('yield');
      signal.throwIfAborted();
    }
  }
}

/** Settles the calls of a step. A message that interrupts ends those that are in progress. */
async function settleUnlessInterrupted(
  answer: RunAnswer,
  settlement: ToolCallSettlement,
  { signal: { step } }: AttemptSteering,
  isResumed: boolean,
): Promise<void> {
  const { control } = settlement;
  const signal = AbortSignal.any([control.signal, step]);
  try {
    await settleToolCalls(
      answer,
      { ...settlement, control: { signal, stop: (reason) => control.stop(reason) } },
      isResumed,
    );
  } catch (error) {
    if (!step.aborted || control.signal.aborted) throw error;
    await failCalls(answer, OUTCOME_UNKNOWN);
    await settleToolCalls(answer, settlement, isResumed);
  }
}

/** Makes a step; undefined if a message has interrupted its model call. What was said until then stays. */
async function unlessInterrupted(
  answer: RunAnswer,
  { signal: { step } }: AttemptSteering,
  signal: AbortSignal,
  makeStep: (signal: AbortSignal) => Promise<ModelStepResult>,
): Promise<ModelStepResult | undefined> {
  try {
    return await makeStep(AbortSignal.any([signal, step]));
  } catch (error) {
    if (!step.aborted || signal.aborted) throw error;
    await closeModelCall(answer);
    return undefined;
  }
}

type StepInput = Pick<ModelStepInput, 'instructions' | 'tools' | 'temperature' | 'files' | 'signal'> &
  Pick<AgentLoopInput, 'models' | 'history' | 'shape' | 'steering' | 'recordings'> & {
    /** What follows the answer so far. */
    correction: readonly ConversationMessage[];
  };

/** Calls the models of the run in turn, until one has answered. What readers have of one that fails is taken back. */
async function callModels(input: StepInput, answer: RunAnswer, observation: RunObservation): Promise<ModelStepResult> {
  const { models, signal } = input;
  let failure: unknown;
  models.begin();
  for (;;) {
    answer.model = models.current.name;
    observation.setModel(models.current.name);
    try {
      const result = await callModel(input, answer, observation);
      models.noteSuccess();
      return result;
    } catch (error) {
      // What a model that was called has said tells more than that another one was not.
      if (failure === undefined || !isOfFiles(error)) failure = error;
      if (signal.aborted || !models.canGoOn(error)) throw failure;
      if (answer.hasOpenStep) await input.steering.resetStep(answer);
      models.goOn(error);
    }
  }
}

/** Calls the current model once, with the files that it takes. */
async function callModel(
  { models, history, shape, steering, correction, recordings, ...input }: StepInput,
  answer: RunAnswer,
  observation: RunObservation,
): Promise<ModelStepResult> {
  const { files, signal } = input;
  const { current } = models;
  const model = await models.open(answer.hasSpendLimit);
  const { messages, release } = await files.open(
    [...history, ...conversationOf(answer, current, steering), ...correction],
    current.takesFile,
    signal,
  );
  const { maxOutputTokens, firstChunkTimeoutMs } = current;
  const asking = shape?.asking(model, current);
  try {
    const instructions = steering.instructionsWith(input.instructions);
    const options = { maxOutputTokens, firstChunkTimeoutMs, hasSubstitute: models.hasNext };
    const step = { ...input, ...options, model, asking, instructions, messages };
    return await observeCall(step, current, answer, { observation, recordings });
  } finally {
    release();
    await models.payments.settle();
  }
}

/**
 * The answer so far, if it has anything that a model can get, and the messages that steered it: without references to
 * records of another provider, if one has written a part of it, or of an answer that was interrupted.
 */
function conversationOf(
  answer: RunAnswer,
  { providerId }: TierModel,
  { messages, hasInterrupted }: AttemptSteering,
): ConversationMessage[] {
  const isForeign = ({ error_code, provider_id }: ModelCall): boolean =>
    error_code === null && provider_id !== providerId;
  const isMixed = hasInterrupted || answer.modelCalls.calls.some(isForeign);
  const whole: ConversationMessage = { id: '', role: 'assistant', parts: answer.parts(), isRequest: false };
  return withSteersInPlace([...messages, whole])
    .map((message) => ({
      ...message,
      parts:
        isMixed || message.role === 'user'
          ? usableMessageParts(message.role, message.parts)
          : usableParts(message.parts),
    }))
    .filter(({ parts }) => parts.length > 0);
}

/** Calls the model in a span of the run, and records the call with the run. */
async function observeCall(
  input: Omit<ModelStepInput, 'recorder'>,
  model: TierModel,
  answer: RunAnswer,
  { observation, recordings }: Pick<AgentLoopInput, 'observation' | 'recordings'>,
): Promise<ModelStepResult> {
  const chat = observation.beginChat({ ...input, isJson: input.asking !== undefined });
  const { hasRoom } = answer.modelCalls;
  const call = answer.modelCalls.begin(answer.finishedSteps + 1, model);
  const recorder = hasRoom ? recordings?.begin(model.price) : undefined;
  const onFirstChunk = (): void => {
    chat.firstChunk();
    call.firstChunk();
  };
  const watch = { onFirstChunk, onRetry: () => call.retry() };
  let code: string | null = null;
  try {
    const result = await chat.within(() => streamModelStep({ ...input, recorder }, answer, watch));
    chat.succeed(result.finishReason, result.usage);
    call.succeed(result.usage);
    return result;
  } catch (error) {
    code = input.signal.aborted ? INTERRUPTED : describeRunFailure(error).code;
    chat.fail(code);
    call.fail(code);
    throw error;
  } finally {
    if (recorder) recordings?.store(call.ordinal, recorder, code);
  }
}

const NOT_CALLED = 'The call was not made, because a message of the user interrupted the step.';
const OUTCOME_UNKNOWN = 'A message of the user interrupted this call, and its outcome is unknown.';

/** Ends what a model has begun to say: the parts so far stay, and no call of the step is made. */
async function closeModelCall(answer: RunAnswer): Promise<void> {
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
async function failCalls(answer: RunAnswer, errorText: string): Promise<void> {
  const approved = answer.gatedToolCalls().filter(({ isRequested }) => !isRequested);
  for (const { toolCallId } of [...answer.pendingToolCalls(), ...approved]) {
    await answer.append({ type: 'tool-output-error', toolCallId, errorText, dynamic: true });
  }
}
