import { PROVIDER_FAILURE_CODES } from '../../agents/models/provider-failure-codes.js';

/**
 * Every value of a run's `error.code`, apart from the codes of requests, with its meaning. `docs/api/errors.md` is
 * generated from it.
 */
export const RUN_FAILURE_CODES = {
  ...PROVIDER_FAILURE_CODES,
  credential_revoked: 'The API key that posted the run was deleted or has expired.',
  poster_gone: 'The API key that posted the run was deleted or has expired while the run waited for an approval.',
  run_timeout: 'The run exceeded its time limit.',
  answer_too_large: 'The answer exceeded the size limit.',
  output_invalid: 'The answer does not fit the output schema of the agent, also after it was returned to the model.',
  answer_unusable: 'The answer could not be streamed or stored.',
  worker_lost: 'The workers that executed the run stopped repeatedly; the run is not retried.',
} as const satisfies Record<string, string>;

export type RunFailureCode = keyof typeof RUN_FAILURE_CODES;
