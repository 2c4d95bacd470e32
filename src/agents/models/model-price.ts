import type { LanguageModelV4CallOptions, LanguageModelV4FilePart } from '@ai-sdk/provider';

/** Prices are in US dollars for this many tokens. */
const PRICED_TOKENS = 1_000_000;

/** The precision of stored costs: `runs.cost_usd` has as many decimal places. */
const COST_DECIMALS = 10;

/** What a model costs, in US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input that the provider read from its cache; without it, such input costs as much as other input. */
  readonly cached_input?: number;
}

/** The tokens of one model call. */
interface PricedTokens {
  /** Including the cached ones. */
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** The cost of one model call in US dollars, to ten decimal places. */
export function costOf({ input, cachedInput, output }: PricedTokens, price: ModelPrice): number {
  // A provider that counts cached tokens apart from the input must not lower the cost below zero.
  const cached = Math.min(cachedInput, input);
  const dollars =
    ((input - cached) * price.input + cached * (price.cached_input ?? price.input) + output * price.output) /
    PRICED_TOKENS;
  return roundCost(dollars);
}

/** The output that is reserved for a model whose limit is not known. */
export const RESERVED_OUTPUT_TOKENS = 4_096;

/** Fewer than the tokens of any common language have. */
const BYTES_PER_TOKEN = 3;

/** How many tokens a text has at most, as a rule. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Removes the error of binary fractions that sums of costs have. */
export function roundCost(dollars: number): number {
  return Number(dollars.toFixed(COST_DECIMALS));
}

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
