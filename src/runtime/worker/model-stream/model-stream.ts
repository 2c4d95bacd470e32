import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type LanguageModelMiddleware, type UIMessageChunk, wrapLanguageModel } from 'ai';
import { hasToolMedia, mayRefuseMedia, withNewestToolMedia } from '../../../agents/models/tool-media.js';
import { unlessAborted } from '../../../core/with-timeout.js';
import type { FirstChunkTimer } from '../first-chunk-timer.js';
import { type RetryChunk, withRetries } from '../provider-retries.js';
import type { CallRecorder } from '../recording/call-recorder.js';

/** The images and sounds of results of tools that a request holds, the newest ones: providers limit their number. */
const MAX_TOOL_MEDIA = 20;
/** Models that have answered only without images and sounds: they are not asked with them again. */
const unseeing = new WeakSet<object>();

type Stream = ReadableStream<LanguageModelV4StreamPart>;

/** How a model is called. */
export interface ModelCallInput {
  readonly model: LanguageModelV4;
  /** Asks it for an answer in a shape; undefined if it answers freely. */
  readonly asking: LanguageModelMiddleware | undefined;
  /** Whether another model is called if this one fails. */
  readonly hasSubstitute: boolean;
  /** Undefined if the call is not recorded. */
  readonly recorder: CallRecorder | undefined;
  readonly timer: FirstChunkTimer;
  /** Of the run: it ends the wait before a repetition. */
  readonly signal: AbortSignal;
  /** Called before the provider is called again. */
  onRetry(): void;
  /** Shows a repetition in the answer's stream. */
  show(chunk: UIMessageChunk): Promise<void>;
}

/**
 * Calls the model, again where its provider refuses the call for the moment, or takes no images.
 * @returns its stream, once the provider has accepted the call
 * @throws the reason of the request's signal as soon as it aborts, whatever the provider does
 */
export async function openModelStream(input: ModelCallInput, request: LanguageModelV4CallOptions): Promise<Stream> {
  const { model, asking } = input;
  const wrapped = wrapLanguageModel({ model, middleware: [...(asking ? [asking] : []), repeating(input)] });
  const { stream } = await unlessAborted(Promise.resolve(wrapped.doStream(request)), request.abortSignal);
  return stream;
}

/**
 * The parts of a stream until the signal aborts, which releases a pending read whatever the provider does.
 * @throws the reason of the signal
 */
export async function* partsUntilAborted(
  stream: Stream,
  signal: AbortSignal,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  const giveUp = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    for (;;) {
      const { done, value } = await reader.read().finally(() => signal.throwIfAborted());
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', giveUp);
    giveUp();
  }
}

/** Repeats a call that the provider refuses, and times each try. */
function repeating({ hasSubstitute, recorder, timer, signal, onRetry, show }: ModelCallInput): LanguageModelMiddleware {
  const report = (chunk: RetryChunk): Promise<void> => {
    timer.stop();
    recorder?.settleTry();
    onRetry();
    return show(chunk);
  };
  return {
    specificationVersion: 'v4',
    transformParams: async ({ params, model }) => {
      const limit = unseeing.has(model) ? 0 : MAX_TOOL_MEDIA;
      return { ...params, prompt: withNewestToolMedia(params.prompt, limit) };
    },
    wrapStream: async ({ params, model }) => {
      const call = (sent: LanguageModelV4CallOptions) => async () => {
        timer.start();
        recorder?.beginTry(sent);
        try {
          return await model.doStream(sent);
        } catch (error) {
          recorder?.failTry(error);
          throw error;
        }
      };
      try {
        return await withRetries(call(params), report, signal, hasSubstitute);
      } catch (error) {
        if (signal.aborted || !hasToolMedia(params.prompt) || !mayRefuseMedia(error)) throw error;
        onRetry();
        const blind = { ...params, prompt: withNewestToolMedia(params.prompt, 0) };
        const result = await withRetries(call(blind), report, signal, hasSubstitute);
        unseeing.add(model);
        return result;
      }
    },
  };
}
