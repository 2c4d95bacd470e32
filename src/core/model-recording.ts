/**
 * What an organization records of its model calls in addition to their times, tokens and costs: nothing; the shape of
 * what was sent and answered, without its texts; or also the texts.
 */
export const MODEL_RECORDINGS = ['off', 'redacted', 'full'] as const;
export type ModelRecording = (typeof MODEL_RECORDINGS)[number];

/** How long recorded calls are kept unless the organization sets `retention.model_calls_days`. */
export const MODEL_CALLS_KEPT_DAYS = 30;
