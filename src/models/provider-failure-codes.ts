/** Every way in which a model gives no answer, with its meaning for whoever reads it on a run. */
export const PROVIDER_FAILURE_CODES = {
  provider_unauthorized: 'The model provider refused the credential, or none is stored.',
  provider_rate_limited: 'The model provider allows no more requests at the moment.',
  provider_unavailable: 'The model provider cannot be reached, is failing, or broke off.',
  provider_timeout: 'The model provider did not answer in time.',
  provider_bad_response: 'The model provider sent an answer that cannot be used.',
  provider_not_found: 'The model provider does not know the model or the address.',
  provider_rejected: 'The model provider rejected the request.',
  model_failed: 'The built-in model failed because a message asked for it.',
  internal: 'An unexpected error occurred.',
} as const satisfies Record<string, string>;

export type ProviderFailureCode = keyof typeof PROVIDER_FAILURE_CODES;
