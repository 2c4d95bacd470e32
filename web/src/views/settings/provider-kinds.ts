import type { ToolOutput } from '../../../../packages/client/src/api.js';

export type Provider = ToolOutput<'AI_PROVIDER_LIST'>['items'][number];

/** A field in which kinds of providers differ, besides the address. */
export type KindField = (typeof KIND_FIELDS)[number]['name'];

/** How a kind of provider is shown, and which fields its form has. */
interface KindForm {
  /** In lists. */
  readonly label: string;
  /** What a filled-in address looks like; required kinds have no usual one. */
  readonly address: string;
  readonly addressHint?: string;
  readonly isAddressRequired?: true;
  readonly fields: { readonly [field in KindField]?: 'required' | 'optional' };
}

/** In the order of the form. */
export const KIND_FIELDS = [
  { name: 'region', label: 'Region', isSecret: false, placeholder: 'eu-central-1' },
  { name: 'api_version', label: 'API version', isSecret: false, placeholder: 'None: the responses API' },
  { name: 'api_key', label: 'API key', isSecret: true, placeholder: '' },
  { name: 'access_key_id', label: 'Access key ID', isSecret: true, placeholder: '' },
  { name: 'secret_access_key', label: 'Secret access key', isSecret: true, placeholder: '' },
  { name: 'session_token', label: 'Session token', isSecret: true, placeholder: 'None' },
] as const;

const USUAL = 'The usual one';
const KEY = { api_key: 'required' } as const;

export const KINDS: Readonly<Record<Provider['kind'], KindForm>> = {
  openai: { label: 'OpenAI', address: USUAL, fields: { api_key: 'optional' } },
  anthropic: { label: 'Anthropic', address: USUAL, fields: { api_key: 'optional' } },
  google: { label: 'Google Gemini', address: USUAL, fields: KEY },
  azure: {
    label: 'Azure OpenAI',
    address: 'https://name.openai.azure.com',
    addressHint: 'The endpoint of the resource. Models are the names of its deployments.',
    isAddressRequired: true,
    fields: { ...KEY, api_version: 'optional' },
  },
  bedrock: {
    label: 'Amazon Bedrock',
    address: USUAL,
    fields: {
      region: 'required',
      access_key_id: 'required',
      secret_access_key: 'required',
      session_token: 'optional',
    },
  },
  mistral: { label: 'Mistral AI', address: USUAL, fields: KEY },
  'openai-compatible': {
    label: 'OpenAI-compatible server',
    address: 'http://localhost:11434/v1',
    addressHint: 'What comes before /chat/completions.',
    isAddressRequired: true,
    fields: { api_key: 'optional' },
  },
};

/** Whether a secret of the provider is stored. */
export function hasSecret(provider: Provider): boolean {
  return KIND_FIELDS.some(({ name, isSecret }) => isSecret && provider[name] !== null);
}
