import { PROVIDER_FAILURE_CODES } from '../models/provider-failure-codes.js';

/**
 * Every code that `error.code` of a run may have, with its meaning, beside the codes of requests: `docs/errors.md` is made
 * of it.
 */
export const RUN_FAILURE_CODES = {
  ...PROVIDER_FAILURE_CODES,
  credential_revoked: 'The API key that posted the run was deleted or has expired.',
  run_timeout: 'The run took longer than it may.',
  answer_too_large: 'The answer grew beyond what one answer may hold.',
  answer_unusable: 'The answer could not be streamed or stored.',
  worker_lost: 'The workers that ran this were lost again and again; it is not tried any more.',
} as const satisfies Record<string, string>;

export type RunFailureCode = keyof typeof RUN_FAILURE_CODES;
