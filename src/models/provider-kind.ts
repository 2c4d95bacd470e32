/** Which protocol a provider speaks: any server with OpenAI's chat completions, OpenAI itself, Anthropic itself. */
export const PROVIDER_KINDS = ['openai-compatible', 'openai', 'anthropic'] as const;

export type ProviderKind = (typeof PROVIDER_KINDS)[number];
