import {
  convertToModelMessages,
  dynamicTool,
  type FinishReason,
  isStepCount,
  jsonSchema,
  type JSONSchema7,
  type LanguageModelMiddleware,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type ToolSet,
  toUIMessageChunk,
  type UIMessage,
  type UIMessageChunk,
  wrapLanguageModel,
} from 'ai';
import type { AgentTool } from '../agents/agent-toolset.js';
import type { ResolvedModel } from '../models/models.service.js';
import { ModelChunkGuard } from './model-chunk-guard.js';
import type { RunAnswer } from './run-answer.js';
import { toModelOutput } from './tool-output.js';
import { usableParts } from './usable-history.js';

/** Providers refuse a request that is too large: no upstream may spoil the runs of its agents with one description. */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** What the model is told of a call that the SDK could not make sense of. */
const UNUSABLE_CALL = 'The tool does not exist, or its arguments were not JSON.';

/** The provider's stream ended in the middle of the answer without an error. */
export class AnswerInterruptedError extends Error {
  override readonly name = 'AnswerInterruptedError';
}

/** What one call of the model is made with. */
export interface ModelStepInput {
  model: ResolvedModel['model'];
  instructions: string;
  history: readonly UIMessage[];
  tools: ToolSet;
  temperature: number | null;
  signal: AbortSignal;
}

/** How the call ended. */
export interface ModelStepResult {
  finishReason: FinishReason;
  usage: LanguageModelUsage | undefined;
}

/**
 * One call of the model. Its text, reasoning and tool calls go into the answer; tools are not executed here, so that they
 * can be stored before.
 * @param onFirstChunk called once, when something of the answer has arrived
 * @throws what the provider failed with; the parts that arrived stay in the answer
 */
export async function streamModelStep(
  input: ModelStepInput,
  answer: RunAnswer,
  onFirstChunk: () => void,
): Promise<ModelStepResult> {
  const { tools } = input;
  const guard = new ModelChunkGuard(answer.parts(), tools);
  // Ends the provider's answer when nobody reads on.
  const reading = new AbortController();
  const result = streamText({
    model: wrapLanguageModel({ model: input.model, middleware: guarding(guard) }),
    ...(input.instructions === '' ? {} : { instructions: input.instructions }),
    messages: await toModelMessages(input.history, answer, tools),
    tools,
    ...(input.temperature === null ? {} : { temperature: input.temperature }),
    abortSignal: AbortSignal.any([input.signal, reading.signal]),
    stopWhen: isStepCount(1),
    // Errors arrive as parts of the stream; the default would print them, with what the provider said.
    onError: () => undefined,
  });
  let outcome: ModelStepResult | undefined;
  let isSilent = true;
  try {
    for await (const part of result.stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') break;
      if (part.type === 'finish-step') outcome = { finishReason: part.finishReason, usage: part.usage };
      const skipped = part.type === 'finish-step' || (part.type === 'start-step' && answer.hasOpenStep);
      const chunk = skipped
        ? undefined
        : toUIMessageChunk(part, { tools, sendStart: false, sendFinish: false, onError: () => UNUSABLE_CALL });
      const accepted = chunk && guard.accept(asDynamic(chunk));
      if (accepted === undefined) continue;
      if (isSilent && accepted.type !== 'start-step') {
        isSilent = false;
        onFirstChunk();
      }
      await answer.push(accepted);
    }
  } catch (error) {
    reading.abort();
    throw error;
  }
  input.signal.throwIfAborted();
  if (outcome === undefined || outcome.finishReason === 'interrupted') {
    throw new AnswerInterruptedError();
  }
  return outcome;
}

function guarding(guard: ModelChunkGuard): LanguageModelMiddleware {
  return {
    specificationVersion: 'v4',
    wrapStream: async ({ doStream }) => {
      const answer = await doStream();
      return { ...answer, stream: guard.stream(answer.stream) };
    },
  };
}

/** All tools of an agent are dynamic; the SDK takes a call of one that does not exist for a call of a static tool. */
function asDynamic(chunk: UIMessageChunk): UIMessageChunk {
  return 'dynamic' in chunk ? { ...chunk, dynamic: true } : chunk;
}

/** The tools as the SDK offers them to a model: all that a call could reach, those that cannot be listed now included. */
export function toToolSet(tools: readonly AgentTool[]): ToolSet {
  return Object.fromEntries(
    tools
      .filter(({ isInactive }) => !isInactive)
      .map((tool) => [
        tool.name,
        dynamicTool({
          description: descriptionOf(tool),
          inputSchema: jsonSchema((tool.definition?.inputSchema ?? { type: 'object' }) as JSONSchema7),
          toModelOutput: ({ output }) => toModelOutput(output),
        }),
      ]),
  );
}

function descriptionOf({ definition, fault }: AgentTool): string {
  if (fault !== undefined) return `The connection "${fault.title}" is not available right now.`;
  return (definition?.description ?? '').slice(0, MAX_DESCRIPTION_LENGTH).toWellFormed();
}

/** The conversation and the answer so far. Calls that never got an outcome are left out: models refuse them. */
function toModelMessages(history: readonly UIMessage[], answer: RunAnswer, tools: ToolSet): Promise<ModelMessage[]> {
  const parts = usableParts(answer.parts());
  const conversation = [...history, ...(parts.length === 0 ? [] : [{ role: 'assistant' as const, parts }])];
  return convertToModelMessages(
    conversation.filter((message) => message.role !== 'system' && message.parts.length > 0),
    { tools, ignoreIncompleteToolCalls: true },
  );
}
