/** Which protocol a provider speaks: any server with OpenAI's chat completions, OpenAI itself, Anthropic itself. */
export const PROVIDER_KINDS = ['openai-compatible', 'openai', 'anthropic'] as const;

export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** Where a kind is reached when no base URL is stored; `openai-compatible` has no such place. */
export const OWN_BASE_URLS = {
  'openai-compatible': undefined,
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
} as const satisfies Record<ProviderKind, string | undefined>;
