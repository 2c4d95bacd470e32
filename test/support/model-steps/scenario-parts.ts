import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { APICallError } from 'ai';
import type { ScriptedCall } from './scripted-model.js';

/** What a model streams in one step, and what else the step depends on. */
export interface Scenario {
  readonly calls: readonly ScriptedCall[];
  readonly settings?: {
    readonly instructions?: string;
    readonly temperature?: number;
    readonly maxOutputTokens?: number;
    readonly firstChunkTimeoutMs?: number;
    readonly hasSubstitute?: boolean;
    /** The step was begun by an earlier attempt. */
    readonly isOpen?: boolean;
    readonly isRecorded?: boolean;
    /** The model is asked for JSON. */
    readonly isShaped?: boolean;
  };
}

const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 12, noCache: 5, cacheRead: 4, cacheWrite: 3 },
  outputTokens: { total: 9, text: 7, reasoning: 2 },
  raw: { prompt_tokens: 12, completion_tokens: 9 },
};
export const UNKNOWN: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: undefined, reasoning: undefined },
};
export const SIGNED: SharedV4ProviderMetadata = { anthropic: { signature: 's' } };

export const finish = (
  unified: LanguageModelV4FinishReason['unified'] = 'stop',
  usage = USAGE,
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: `raw-${unified}` },
  usage,
  providerMetadata: { openai: { responseId: 'r' } },
});
export const text = (id: string, ...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  ...deltas.map((delta) => ({ type: 'text-delta' as const, id, delta })),
  { type: 'text-end', id },
];
export const call = (toolCallId: string, toolName: string, input: string, more = {}): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
  ...more,
});
export const refusal = (statusCode: number, responseHeaders = {}): APICallError =>
  new APICallError({ message: 'No.', url: 'https://m.test', requestBodyValues: {}, statusCode, responseHeaders });

export const START: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] };
export const ABOUT: LanguageModelV4StreamPart = {
  type: 'response-metadata',
  id: 'r1',
  modelId: 'm-1',
  timestamp: new Date(0),
};
export const SOME = [
  START,
  ABOUT,
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'So' },
] as const;

export const CITED: LanguageModelV4StreamPart = {
  type: 'text-end',
  id: '0',
  citations: [{ source: { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.test' }, citedText: 'So' }],
};
