/** One model call of a run, as it is stored and as callers see it. */
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
}
