/** Every way in which a model call fails, with the message that a run shows. */
export const PROVIDER_FAILURE_CODES = {
  provider_unauthorized: 'The model provider refused the credential, or no credential is stored.',
  provider_rate_limited: 'The model provider limits the rate of requests.',
  provider_unavailable: 'The model provider cannot be reached, failed, or closed the connection.',
  provider_timeout: 'The model provider did not respond in time.',
  provider_bad_response: 'The model provider sent an invalid response.',
  provider_not_found: 'The model provider does not know the model or the address.',
  provider_rejected: 'The model provider rejected the request.',
  model_failed: 'The built-in model failed because a message asked for it.',
  internal: 'An unexpected error occurred.',
} as const satisfies Record<string, string>;

export type ProviderFailureCode = keyof typeof PROVIDER_FAILURE_CODES;
