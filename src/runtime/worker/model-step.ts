import type { LanguageModelV4, LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider';
import {
  type FinishReason,
  type LanguageModelMiddleware,
  type LanguageModelUsage,
  NoOutputGeneratedError,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { asLanguageModelUsage, createNullLanguageModelUsage, logWarnings } from 'ai/internal';
import { unlessAborted } from '../../core/with-timeout.js';
import { FirstChunkTimer, openModelStream, partsUntilAborted } from './model-stream/model-stream.js';
import { chunksOfMadeFile, type RunFiles } from './run-files.js';
import { ModelChunkGuard } from './model-chunk-guard.js';
import { AnswerChunks } from './model-stream/answer-chunks.js';
import { requestTo } from './model-stream/model-request.js';
import type { CallRecorder } from './recording/call-recorder.js';
import type { RunAnswer } from './run-answer.js';

/** Chunks that do not begin an answer. A thought does: what a model thinks can stay hidden for minutes. */
const OPENINGS: ReadonlySet<UIMessageChunk['type']> = new Set(['start-step', 'text-start']);

const NO_OUTPUT = 'No output generated. The model stream ended without a finish chunk.';

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
  // Aborts the provider's stream when reading stops.
  const reading = new AbortController();
  const timer = new FirstChunkTimer(input.firstChunkTimeoutMs);
  const signal = AbortSignal.any([input.signal, reading.signal, timer.signal]);
  let result: ModelStepResult;
  try {
    result = await readModelStep({ ...input, timer }, answer, watch, signal);
  } catch (error) {
    reading.abort();
    throw timer.signal.aborted ? timer.signal.reason : error;
  } finally {
    timer.stop();
  }
  if (result.finishReason === 'interrupted') throw new AnswerInterruptedError();
  return result;
}

/** @param signal ends the reading, too */
async function readModelStep(
  input: ModelStepInput & { timer: FirstChunkTimer },
  answer: RunAnswer,
  watch: ModelStepWatch,
  signal: AbortSignal,
): Promise<ModelStepResult> {
  const { model, tools, timer, recorder } = input;
  const request = await unlessAborted(requestTo(model, input, signal), signal);
  const call = { ...input, onRetry: () => watch.onRetry(), show: (chunk: UIMessageChunk) => answer.push(chunk) };
  const stream = await openModelStream(call, request);
  const guard = new ModelChunkGuard(answer.parts(), tools);
  const chunks = new AnswerChunks(tools, signal);
  let warnings: SharedV4Warning[] = [];
  let isStarted = answer.hasOpenStep;
  let hasOutput = false;
  let awaitsFirstChunk = true;
  let result: ModelStepResult | undefined;
  for await (const received of partsUntilAborted(stream, signal)) {
    const part = guard.bound(received);
    if (part?.type === 'stream-start') ({ warnings } = part);
    if (part === undefined || part.type === 'stream-start') {
      await answer.skip();
      continue;
    }
    if (!isStarted) await answer.push({ type: 'start-step' });
    isStarted = true;
    if (part.type === 'finish') {
      result = { finishReason: part.finishReason.unified, usage: asLanguageModelUsage(part.usage) };
    }
    hasOutput ||= isOutput(part);
    const made = await chunks.of(part);
    const accepted = made.flatMap((chunk) => guard.accept(chunk) ?? []);
    if (made.length === 0 || accepted.length > 0) recorder?.receive(part);
    if (accepted.length === 0) await answer.skip();
    for (const chunk of accepted) {
      if (awaitsFirstChunk && !OPENINGS.has(chunk.type)) {
        awaitsFirstChunk = false;
        timer.stop();
        watch.onFirstChunk();
      }
      for (const stored of await storedChunks(chunk, answer, input)) await answer.push(stored);
    }
  }
  if (result === undefined && !hasOutput) throw new NoOutputGeneratedError({ message: NO_OUTPUT });
  logWarnings({ warnings, provider: model.provider, model: model.modelId });
  return result ?? { finishReason: 'other', usage: createNullLanguageModelUsage() };
}

/** Whether a part is something that the model has said: without any, a stream that just ends is no answer. */
function isOutput(part: LanguageModelV4StreamPart): boolean {
  if ('delta' in part) return part.delta !== '';
  return part.type === 'tool-call' || part.type === 'file' || part.type === 'reasoning-file';
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
