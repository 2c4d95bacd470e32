import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { tokensOfBytes } from '../../../agents/models/model-price.js';
import type {
  RecordedMessage,
  RecordedPart,
  RecordedRequest,
  RecordedTool,
  RecordedText,
} from '../../runs/records/model-recordings.js';
import { createHash } from 'node:crypto';
import { HIDDEN, withoutCredentials } from '../../../core/credential-forms.js';
import { isRecord } from '../../../core/is-record.js';

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

/** Longer texts are cut, in characters. */
const MAX_TEXT = 65_536;
const HASH_DIGITS = 16;

const NO_PART = { tool_name: null, tool_call_id: null, media_type: null };

/** Makes the recorded form of texts and files, with the texts or without them. */
export class RecordedTexts {
  /**
   * @param salt makes the hashes of organizations incomparable
   * @param toolNames names of tools that are no text of a model
   */
  constructor(
    private readonly salt: string,
    private readonly isRedacted: boolean,
    private readonly toolNames: ReadonlySet<string>,
  ) {}

  text(text: string): RecordedText {
    const shown = this.isRedacted ? null : withoutCredentials(text.slice(0, MAX_TEXT));
    return { size: text.length, hash: this.hashOf(text), text: shown };
  }

  /** A value other than a text, as JSON. */
  json(value: unknown): RecordedText {
    return this.text(JSON.stringify(value, withoutBytes) ?? '');
  }

  part(type: 'text' | 'reasoning' | 'other', text: string): RecordedPart {
    return { type, ...NO_PART, ...this.text(text) };
  }

  toolPart(type: 'tool-call' | 'tool-result', toolName: string, callId: string, value: unknown): RecordedPart {
    const content = typeof value === 'string' ? this.text(value) : this.json(value);
    const name = this.isRedacted && !this.toolNames.has(toolName) ? HIDDEN : toolName;
    // The model chooses the id.
    const id = this.isRedacted ? this.hashOf(callId) : callId;
    return { type, ...NO_PART, tool_name: name, tool_call_id: id, ...content };
  }

  /** Bytes are never recorded. An address is a text. */
  filePart(mediaType: string, data: unknown): RecordedPart {
    const file = { type: 'file' as const, ...NO_PART, media_type: mediaType };
    const content = bytesOf(data);
    if (content === undefined) return { ...file, ...this.json(data) };
    const bytes = typeof content === 'string' ? Buffer.from(content, 'base64') : content;
    return { ...file, size: bytes.byteLength, hash: this.hashOf(bytes), text: null };
  }

  private hashOf(content: string | Uint8Array): string {
    return createHash('sha256').update(`${this.salt}:`).update(content).digest('hex').slice(0, HASH_DIGITS);
  }
}

/** The bytes of a file of a prompt, as base64 or as an array; undefined for a text, an address or a reference. */
function bytesOf(file: unknown): string | Uint8Array | undefined {
  if (!isRecord(file) || file['type'] !== 'data') return undefined;
  const { data } = file;
  return data instanceof Uint8Array || typeof data === 'string' ? data : undefined;
}

/** Replaces the bytes of files in results of tools by their number. */
function withoutBytes(_name: string, value: unknown): unknown {
  if (!isRecord(value) || value['type'] !== 'file') return value;
  const bytes = bytesOf(value['data']);
  if (bytes === undefined) return value;
  const size = typeof bytes === 'string' ? Buffer.byteLength(bytes, 'base64') : bytes.byteLength;
  return { type: 'file', mediaType: value['mediaType'], bytes: size };
}
