import { PROVIDER_FAILURE_CODES } from '../models/provider-failure-codes.js';

/**
 * Every code that `error.code` of a run may have, with its meaning, beside the codes of requests: `docs/errors.md` is made
 * of it.
 */
export const RUN_FAILURE_CODES = {
  ...PROVIDER_FAILURE_CODES,
  run_timeout: 'The run took longer than it may.',
  worker_lost: 'The workers that ran this were lost again and again; it is not tried any more.',
} as const satisfies Record<string, string>;

export type RunFailureCode = keyof typeof RUN_FAILURE_CODES;
