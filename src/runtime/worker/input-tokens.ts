import type { LanguageModelV4CallOptions, LanguageModelV4FilePart } from '@ai-sdk/provider';
import { tokensOfBytes } from '../../agents/models/model-price.js';

/** More than an image of any size costs at the common providers. */
const IMAGE_TOKENS = 5_000;
/** A page of a PDF can be both read and seen. */
const BYTES_PER_FILE_TOKEN = 5;

/** How many input tokens a call has at most, as a rule: no tokenizer is common to all models. */
export function countInputTokens({
  prompt,
  tools = [],
  responseFormat = { type: 'text' },
}: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'responseFormat'>): number {
  let tokens = 0;
  const text = JSON.stringify([prompt, tools, responseFormat], (_, value: unknown) => {
    if (!isFile(value)) return value;
    tokens += tokensOfFile(value);
    return null;
  });
  return tokens + tokensOfBytes(Buffer.byteLength(text));
}

function isFile(value: unknown): value is LanguageModelV4FilePart {
  const { type, mediaType, data } = (value ?? {}) as Partial<LanguageModelV4FilePart>;
  return type === 'file' && typeof mediaType === 'string' && data?.type === 'data';
}

function tokensOfFile({ mediaType, data }: LanguageModelV4FilePart): number {
  if (/^image(?:\/|$)/.test(mediaType) || data.type !== 'data') return IMAGE_TOKENS;
  const bytes = typeof data.data === 'string' ? Buffer.byteLength(data.data, 'base64') : data.data.byteLength;
  return Math.ceil(bytes / BYTES_PER_FILE_TOKEN);
}
