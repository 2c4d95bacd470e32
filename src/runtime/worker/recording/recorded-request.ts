import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { tokensOfBytes } from '../../../agents/models/model-price.js';
import type { RecordedMessage, RecordedPart, RecordedRequest, RecordedTool } from '../../runs/records/recorded-call.js';
import type { RecordedTexts } from './recorded-texts.js';

/** What a model is sent: what counts for the record of a call. */
export type SentRequest = Pick<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'temperature' | 'maxOutputTokens' | 'toolChoice' | 'responseFormat' | 'providerOptions'
>;

/** The names of the tools that a request defines. */
export function toolNamesOf({ tools = [] }: SentRequest): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name));
}

/** @param tokens how many input tokens the request has at most */
export function recordedRequest(sent: SentRequest, tokens: number, texts: RecordedTexts): RecordedRequest {
  const system = sent.prompt.filter((message) => message.role === 'system').map(({ content }) => content);
  const format = sent.responseFormat ?? { type: 'text' };
  return {
    instructions: system.length === 0 ? null : texts.text(system.join('\n\n')),
    messages: sent.prompt.flatMap((message) => recordedMessage(message, texts)),
    tools: (sent.tools ?? []).map((tool) => recordedTool(tool, texts)),
    tokens,
    settings: {
      temperature: sent.temperature ?? null,
      max_output_tokens: sent.maxOutputTokens ?? null,
      tool_choice: sent.toolChoice?.type ?? null,
      response_format: format.type,
      response_schema: format.type === 'json' && format.schema ? texts.json(format.schema) : null,
      provider_options: sent.providerOptions === undefined ? null : texts.json(sent.providerOptions),
    },
  };
}

function recordedTool(tool: NonNullable<SentRequest['tools']>[number], texts: RecordedTexts): RecordedTool {
  const { description = '', inputSchema = null } = tool.type === 'function' ? tool : {};
  return {
    name: tool.name,
    description: texts.text(description),
    input_schema: texts.json(inputSchema),
    tokens: tokensOfBytes(Buffer.byteLength(JSON.stringify(tool))),
  };
}

function recordedMessage(message: LanguageModelV4Message, texts: RecordedTexts): RecordedMessage[] {
  if (message.role === 'system') return [];
  return [{ role: message.role, parts: message.content.map((part) => recordedPart(part, texts)) }];
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number];

function recordedPart(part: Part, texts: RecordedTexts): RecordedPart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return texts.part(part.type, part.text);
    case 'file':
    case 'reasoning-file':
      return texts.filePart(part.mediaType, part.data);
    case 'tool-call':
      return texts.toolPart(part.type, part.toolName, part.toolCallId, part.input);
    case 'tool-result': {
      const value = 'value' in part.output ? part.output.value : part.output;
      return texts.toolPart(part.type, part.toolName, part.toolCallId, value);
    }
    default:
      return texts.part('other', JSON.stringify(part));
  }
}
