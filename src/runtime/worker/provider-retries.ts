import { setTimeout as sleep } from 'node:timers/promises';
import { APICallError, type UIMessageChunk } from 'ai';
import { describeProviderFailure } from '../../agents/models/provider-failure.js';

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
