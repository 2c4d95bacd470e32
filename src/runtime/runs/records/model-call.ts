/** One model call of a run, as callers see it. */
export interface ModelCall {
  /** The step that the call was for, from 1. A call that failed is repeated for the same step by the next attempt. */
  step: number;
  attempt: number;
  /** When the worker made the call, by the clock of its machine: ISO 8601. */
  started_at: string;
  /** Until the end of the model's answer, with the waits before repetitions. */
  duration_ms: number;
  /** How often the provider was called again because it refused. */
  retries: number;
  /** Null if the provider reported none, as for calls that fail. */
  input_tokens: number | null;
  /** The part of the input that the provider read from its cache. */
  cached_input_tokens: number | null;
  output_tokens: number | null;
  /** At the price of the time of the call; null if there was no price or no report of tokens. */
  cost_usd: number | null;
  /** Why the call failed; `interrupted` if its run was stopped. */
  error_code: string | null;
  /**
   * How long the answer took to begin, with the waits before repetitions. Null if it did not begin, and for calls of
   * earlier versions.
   */
  first_chunk_ms: number | null;
  /** The part of the output that is hidden reasoning; null if the provider reported none. */
  reasoning_tokens: number | null;
  /** Null for the built-in model, and for calls of earlier versions. */
  provider_id: string | null;
  /** The provider's name for the model; null for calls of earlier versions. */
  model: string | null;
}

/**
 * A call as the column `model_calls` holds it: the values of `ModelCall` in their order, the start in milliseconds
 * since 1970. The statistics read many runs, and names would take most of their rows.
 */
export type StoredModelCall = readonly [
  step: number,
  attempt: number,
  startedMs: number,
  durationMs: number,
  retries: number,
  inputTokens: number | null,
  cachedInputTokens: number | null,
  outputTokens: number | null,
  costUsd: number | null,
  errorCode: string | null,
  providerId?: string | null,
  model?: string | null,
  firstChunkMs?: number | null,
  reasoningTokens?: number | null,
];

/** The value of the column, as JSON. */
export function storedCalls(calls: readonly ModelCall[]): string {
  const stored = calls.map((call): StoredModelCall => [
    call.step,
    call.attempt,
    Date.parse(call.started_at),
    call.duration_ms,
    call.retries,
    call.input_tokens,
    call.cached_input_tokens,
    call.output_tokens,
    call.cost_usd,
    call.error_code,
    call.provider_id,
    call.model,
    call.first_chunk_ms,
    call.reasoning_tokens,
  ]);
  return JSON.stringify(stored);
}

export function readCall(stored: StoredModelCall): ModelCall {
  const [step, attempt, startedMs, duration_ms, retries, input_tokens, cached_input_tokens, output_tokens] = stored;
  const [, , , , , , , , cost_usd, error_code, provider_id = null, model = null] = stored;
  const [, , , , , , , , , , , , first_chunk_ms = null, reasoning_tokens = null] = stored;
  return {
    step,
    attempt,
    started_at: new Date(startedMs).toISOString(),
    duration_ms,
    retries,
    input_tokens,
    cached_input_tokens,
    output_tokens,
    cost_usd,
    error_code,
    first_chunk_ms,
    reasoning_tokens,
    provider_id,
    model,
  };
}
