import type { LanguageModelV4 } from '@ai-sdk/provider';
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
import type { AgentTool } from '../../agents/agent-toolset.js';
import { hasToolMedia, mayRefuseMedia, withNewestToolMedia } from '../../agents/models/tool-media.js';
import { FirstChunkTimer } from './first-chunk-timer.js';
import { ModelChunkGuard } from './model-chunk-guard.js';
import { type RetryChunk, withRetries } from './provider-retries.js';
import type { CallRecorder } from './recording/call-recorder.js';
import { chunksOfMadeFile } from './made-files.js';
import type { RunAnswer } from './run-answer.js';
import type { RunFiles } from './run-files.js';
import { toModelOutput } from './tool-output.js';

/** Providers reject oversized requests. The limit keeps one long description from failing every run of an agent. */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** The images and sounds of results of tools that a request holds, the newest ones: providers limit their number. */
const MAX_TOOL_MEDIA = 20;
/** Models that have answered only without images and sounds: they are not asked with them again. */
const unseeing = new WeakSet<object>();

/** Chunks that do not begin an answer. A thought does: what a model thinks can stay hidden for minutes. */
const OPENINGS: ReadonlySet<UIMessageChunk['type']> = new Set(['start-step', 'text-start']);

/** The error text for a tool call that the SDK cannot parse. */
const UNUSABLE_CALL = 'The tool does not exist, or its arguments are not valid JSON.';

/** The provider's stream ended in the middle of the answer without an error. */
export class AnswerInterruptedError extends Error {
  override readonly name = 'AnswerInterruptedError';
}

/** The input of one model call. */
export interface ModelStepInput {
  model: LanguageModelV4;
  /** Asks it for an answer in a shape; undefined if it answers freely. */
  asking: LanguageModelMiddleware | undefined;
  /** Null for the limit of the model itself. */
  maxOutputTokens: number | null;
  /** How long the model can take to begin its answer, in milliseconds. */
  firstChunkTimeoutMs: number;
  /** Whether another model is called if this one fails. */
  hasSubstitute: boolean;
  instructions: string;
  /** The conversation and the answer so far. */
  messages: readonly UIMessage[];
  tools: ToolSet;
  temperature: number | null;
  files: RunFiles;
  /** Undefined if the call is not recorded. */
  recorder: CallRecorder | undefined;
  signal: AbortSignal;
}

/** Told what happens during a call. */
interface ModelStepWatch {
  /** Called once, when the first content of the answer arrives. */
  onFirstChunk(): void;
  /** Called before the provider is called again. */
  onRetry(): void;
}

/** How the call ended. */
export interface ModelStepResult {
  finishReason: FinishReason;
  usage: LanguageModelUsage | undefined;
}

/**
 * Calls the model once and adds its text, reasoning and tool calls to the answer. It does not execute the tools,
 * because the calls are stored first.
 * @throws the provider's error; parts that have arrived stay in the answer
 */
export async function streamModelStep(
  input: ModelStepInput,
  answer: RunAnswer,
  watch: ModelStepWatch,
): Promise<ModelStepResult> {
  const { tools } = input;
  const guard = new ModelChunkGuard(answer.parts(), tools);
  // Aborts the provider's stream when reading stops.
  const reading = new AbortController();
  const timer = new FirstChunkTimer(input.firstChunkTimeoutMs);
  const result = streamText({
    model: wrapLanguageModel({
      model: input.model,
      middleware: [...(input.asking ? [input.asking] : []), callMiddleware({ guard, timer }, answer, input, watch)],
    }),
    // `callMiddleware` repeats calls.
    maxRetries: 0,
    ...(input.instructions === '' ? {} : { instructions: input.instructions }),
    messages: await toModelMessages(input.messages, tools),
    tools,
    ...(input.temperature === null ? {} : { temperature: input.temperature }),
    ...(input.maxOutputTokens === null ? {} : { maxOutputTokens: input.maxOutputTokens }),
    abortSignal: AbortSignal.any([input.signal, reading.signal, timer.signal]),
    stopWhen: isStepCount(1),
    // Errors arrive as parts of the stream. The default handler would print them, including the provider's text.
    onError: () => undefined,
  });
  let outcome: ModelStepResult | undefined;
  let awaitsFirstChunk = true;
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
      if (awaitsFirstChunk && !OPENINGS.has(accepted.type)) {
        awaitsFirstChunk = false;
        timer.stop();
        watch.onFirstChunk();
      }
      for (const stored of await storedChunks(accepted, answer, input)) await answer.push(stored);
    }
  } catch (error) {
    reading.abort();
    throw timer.signal.aborted ? timer.signal.reason : error;
  } finally {
    timer.stop();
  }
  input.signal.throwIfAborted();
  timer.signal.throwIfAborted();
  if (outcome === undefined || outcome.finishReason === 'interrupted') {
    throw new AnswerInterruptedError();
  }
  return outcome;
}

/** The chunk, or those that name the file which the model has made. */
async function storedChunks(
  chunk: UIMessageChunk,
  answer: RunAnswer,
  { files, signal }: ModelStepInput,
): Promise<UIMessageChunk[]> {
  if (chunk.type !== 'file' && chunk.type !== 'reasoning-file') return [chunk];
  await answer.save();
  return chunksOfMadeFile(chunk, files, signal);
}

/** Shows the repetitions of a call in the answer's stream, times each, and guards the stream of the model. */
function callMiddleware(
  { guard, timer }: { guard: ModelChunkGuard; timer: FirstChunkTimer },
  answer: RunAnswer,
  { signal, hasSubstitute, recorder }: ModelStepInput,
  watch: ModelStepWatch,
): LanguageModelMiddleware {
  return {
    specificationVersion: 'v4',
    transformParams: async ({ params, model }) => {
      const limit = unseeing.has(model) ? 0 : MAX_TOOL_MEDIA;
      return { ...params, prompt: withNewestToolMedia(params.prompt, limit) };
    },
    wrapStream: async ({ doStream, params, model }) => {
      const report = (chunk: RetryChunk): Promise<void> => {
        timer.stop();
        recorder?.settleTry();
        watch.onRetry();
        return answer.push(chunk);
      };
      const timed =
        (call: typeof doStream, sent = params) =>
        async () => {
          timer.start();
          recorder?.beginTry(sent);
          try {
            return await call();
          } catch (error) {
            recorder?.failTry(error);
            throw error;
          }
        };
      const withoutMedia = async (error: unknown): Promise<Awaited<ReturnType<typeof doStream>>> => {
        if (signal.aborted || !hasToolMedia(params.prompt) || !mayRefuseMedia(error)) throw error;
        watch.onRetry();
        const blind = { ...params, prompt: withNewestToolMedia(params.prompt, 0) };
        const result = await withRetries(
          timed(() => model.doStream(blind), blind),
          report,
          signal,
          hasSubstitute,
        );
        unseeing.add(model);
        return result;
      };
      const result = await withRetries(timed(doStream), report, signal, hasSubstitute).catch(withoutMedia);
      return { ...result, stream: guard.stream(recorder?.listen(result.stream) ?? result.stream) };
    },
  };
}

/** All tools of an agent are dynamic, but the SDK treats a call of an unknown tool as static. */
function asDynamic(chunk: UIMessageChunk): UIMessageChunk {
  return 'dynamic' in chunk ? { ...chunk, dynamic: true } : chunk;
}

/** Converts the tools for the SDK: all that a call could reach, including those that cannot be listed now. */
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

/** Calls without an outcome are omitted, because models reject them. */
function toModelMessages(messages: readonly UIMessage[], tools: ToolSet): Promise<ModelMessage[]> {
  const conversation = messages.map((message) => ({ ...message, parts: message.parts.map(withoutApproval) }));
  return convertToModelMessages(
    conversation.filter((message) => message.role !== 'system' && message.parts.length > 0),
    { tools: { ...earlierTools(conversation), ...tools }, ignoreIncompleteToolCalls: true },
  );
}

/**
 * A tool call as if it had needed no approval: a model learns what came of it, and why. `streamText` would take an
 * approval for a request to make the call.
 */
function withoutApproval(part: UIMessage['parts'][number]): UIMessage['parts'][number] {
  if (part.type !== 'dynamic-tool' || part.approval === undefined) return part;
  const { approval, ...call } = part;
  switch (call.state) {
    case 'approval-requested':
    case 'approval-responded':
      return { ...call, state: 'input-available' };
    case 'output-denied': {
      const reason = approval.reason === undefined ? '' : ` The reason: ${approval.reason}`;
      return {
        ...call,
        state: 'output-error',
        errorText: `The call was not made, because it was not approved.${reason}`,
      };
    }
    default:
      return call;
  }
}

/**
 * The tools that the conversation called: outputs of tools that the agent no longer has are converted like all others.
 */
function earlierTools(conversation: readonly Pick<UIMessage, 'parts'>[]): ToolSet {
  const names = conversation.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'dynamic-tool' ? [part.toolName] : [])),
  );
  return Object.fromEntries(names.map((name) => [name, EARLIER_TOOL]));
}

const EARLIER_TOOL = dynamicTool({
  inputSchema: jsonSchema({ type: 'object' }),
  toModelOutput: ({ output }) => toModelOutput(output),
});
