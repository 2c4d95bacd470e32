import type { FinishReason, UIMessage } from 'ai';
import type { AgentTool } from '../agents/agent-toolset.js';
import type { ResolvedModel } from '../models/models.service.js';
import { streamModelStep, toToolSet } from './model-step.js';
import { endsWithToolCalls } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { executeToolCalls } from './tool-step.js';

/** What an agent works with during one attempt. */
export interface AgentLoopInput {
  model: ResolvedModel['model'];
  instructions: string;
  history: readonly UIMessage[];
  tools: readonly AgentTool[];
  temperature: number | null;
  maxSteps: number;
  /** Asked between two steps. */
  shouldYield(): Promise<boolean>;
}

/**
 * Calls the model and its tools in turn until the model has nothing more to call, or the steps are used up. What is
 * finished is stored before the next begins: the model's step, then each outcome of its tool calls. The last step is stored with
 * the end of the run.
 * @returns why the last model call ended
 */
export async function runAgentLoop(
  input: AgentLoopInput,
  answer: RunAnswer,
  control: RunAttemptControl,
): Promise<FinishReason> {
  const tools = new Map(input.tools.map((tool) => [tool.name, tool]));
  const toolSet = toToolSet(input.tools);
  const { signal } = control;
  if (answer.pendingToolCalls().length > 0 && !answer.hasOpenStep) {
    await executeToolCalls(answer, tools, true, signal);
    await answer.push({ type: 'finish-step' });
  }
  let finishReason: FinishReason = 'stop';
  while (answer.finishedSteps === 0 || answer.hasOpenStep || endsWithToolCalls(answer.parts())) {
    if (answer.finishedSteps >= input.maxSteps) return 'tool-calls';
    const step = await streamModelStep({ ...input, tools: toolSet, signal }, answer);
    finishReason = step.finishReason;
    answer.countStep(step.usage);
    if (endsWithToolCalls(answer.parts())) {
      await answer.save();
      if (answer.stopWasRequested) control.stop('cancelled');
      signal.throwIfAborted();
      await executeToolCalls(answer, tools, false, signal);
    }
    await answer.push({ type: 'finish-step' });
    if (answer.finishedSteps < input.maxSteps && endsWithToolCalls(answer.parts()) && (await input.shouldYield())) {
      control.stop('yield');
      signal.throwIfAborted();
    }
  }
  return finishReason;
}
