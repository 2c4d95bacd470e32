import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type LanguageModelMiddleware, type UIMessageChunk, wrapLanguageModel, APICallError } from 'ai';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasToolMedia, mayRefuseMedia, withNewestToolMedia } from '../../../agents/models/tool-media.js';
import { unlessAborted } from '../../../core/with-timeout.js';
import type { CallRecorder } from '../recording/call-recorder.js';
import { describeProviderFailure } from '../../../agents/models/provider-failure.js';

/** The images and sounds of results of tools that a request holds, the newest ones: providers limit their number. */
const MAX_TOOL_MEDIA = 20;
/** Models that have answered only without images and sounds: they are not asked with them again. */
const unseeing = new WeakSet<object>();

type Stream = ReadableStream<LanguageModelV4StreamPart>;

/** How a model is called. */
interface ModelCallInput {
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

/** How often a model is called for one step, as long as the provider refuses before it begins to answer. */
const MAX_CALLS = 3;
const FIRST_DELAY_MS = 2_000;
/** A provider that asks for more patience gets the own delays instead. */
const MAX_DELAY_MS = 60_000;

/** Tells readers that the model is called again. It is not part of the answer: `transient` parts are not stored. */
export type RetryChunk = Extract<UIMessageChunk, { type: `data-${string}` }> & {
  data: {
    /** The number of the coming call, from 2, and of all calls. */
    attempt: number;
    max_attempts: number;
    /** When it is made, in milliseconds from now. */
    delay_ms: number;
    /** Why the one before failed, as in the error of a run. */
    code: string;
    message: string;
  };
};

/** With a substitute, a provider is not waited for longer than this. */
const MAX_DELAY_WITH_SUBSTITUTE_MS = 5_000;

/**
 * Calls the model, again if its provider refuses the call for the moment (such as 429 or 503) or cannot be reached.
 * Waits 2 s and 4 s, or as long as the provider's `retry-after` says if that is at most a minute.
 * @param report called before each wait
 * @param hasSubstitute whether another model can be called: then only limits of the rate are waited for, and 5 s at
 * most
 * @throws the error of the last call, or the reason of the abort
 */
export async function withRetries<T>(
  call: () => PromiseLike<T>,
  report: (chunk: RetryChunk) => Promise<void>,
  signal: AbortSignal,
  hasSubstitute = false,
): Promise<T> {
  for (let attempt = 2; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const isWorthIt = APICallError.isInstance(error) && error.isRetryable && !signal.aborted;
      if (!isWorthIt || attempt > MAX_CALLS) throw error;
      const ownDelayMs = FIRST_DELAY_MS * 2 ** (attempt - 2);
      const requestedMs = requestedDelayMs(error.responseHeaders ?? {}) ?? ownDelayMs;
      const { code, message } = describeProviderFailure(error);
      const isSoon = code === 'provider_rate_limited' && requestedMs <= MAX_DELAY_WITH_SUBSTITUTE_MS;
      if (hasSubstitute && !isSoon) throw error;
      const delayMs = requestedMs <= MAX_DELAY_MS ? requestedMs : ownDelayMs;
      const data = { attempt, max_attempts: MAX_CALLS, delay_ms: delayMs, code, message };
      await report({ type: 'data-retry', transient: true, data });
      await sleep(delayMs, undefined, { signal });
    }
  }
}

/** RFC 9110 §10.2.3, and the form in milliseconds that some providers send. */
function requestedDelayMs(headers: Readonly<Record<string, string>>): number | undefined {
  const { 'retry-after-ms': milliseconds, 'retry-after': seconds } = headers;
  const candidates = [
    milliseconds === undefined ? NaN : Number(milliseconds),
    seconds === undefined ? NaN : Number(seconds) * 1000,
    seconds === undefined ? NaN : Date.parse(seconds) - Date.now(),
  ];
  const delay = candidates.find((value) => !Number.isNaN(value));
  return delay !== undefined && delay >= 0 ? Math.round(delay) : undefined;
}

/** Aborts a model call whose answer does not begin in time. */
export class FirstChunkTimer {
  private readonly late = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  /** @param timeoutMs for each time that the provider is called; `Infinity` for no limit */
  constructor(private readonly timeoutMs: number) {}

  /** Aborted with a `TimeoutError`. */
  get signal(): AbortSignal {
    return this.late.signal;
  }

  start(): void {
    this.stop();
    if (this.timeoutMs === Infinity) return;
    this.timer = setTimeout(() => {
      this.late.abort(new DOMException('The model did not begin its answer in time.', 'TimeoutError'));
    }, this.timeoutMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
