import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from '@ai-sdk/provider';
import {
  createIdGenerator,
  ToolCallNotFoundForApprovalError,
  type ToolSet,
  type UIMessageChunk,
  AISDKError,
  StreamProviderError,
} from 'ai';
import { parseToolCall } from 'ai/internal';
import { types } from 'node:util';
import { isRecord } from '../../../core/is-record.js';

type PartOf<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>;
type TextPart = PartOf<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;

/** The error text for a tool call that cannot be parsed. */
const UNUSABLE_CALL = 'The tool does not exist, or its arguments are not valid JSON.';

/** The protocols of addresses of files that readers get: a console can show an address as a link. */
const USABLE_ADDRESS = /^(?:https?|data):$/;

const newPartId = createIdGenerator({ prefix: 'aitxt', size: 24 });

/**
 * Turns the parts of one provider stream into chunks of an answer, as `streamText` and `toUIMessageChunk` of the AI SDK
 * do: the fields of a chunk are in the same order. All tools of an agent are dynamic. Sources are left out, and files
 * at addresses are not downloaded.
 */
export class AnswerChunks {
  private readonly texts = new TextIds();
  private readonly thoughts = new TextIds();
  private readonly callIds = new Set<string>();
  private firstText: string | undefined;
  private metadataOfFirstText: { providerMetadata?: Metadata } = {};

  constructor(
    private readonly tools: ToolSet,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * The chunks of a part.
   * @throws the provider's error, if the part is one
   */
  of(part: LanguageModelV4StreamPart): UIMessageChunk[] | Promise<UIMessageChunk[]> {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return [this.ofText(part)];
      case 'tool-input-start':
        return [ofInputStart(part)];
      case 'tool-input-delta':
        return [{ type: 'tool-input-delta', toolCallId: part.id, inputTextDelta: part.delta }];
      case 'tool-call':
        return this.ofCall(part);
      case 'tool-result':
        return [this.ofResult(part)];
      case 'tool-approval-request':
        return [this.ofRequest(part)];
      case 'file':
      case 'reasoning-file':
        return ofFile(part);
      case 'custom':
        return [{ type: 'custom', kind: part.kind, ...metadataOf(part) }];
      case 'error':
        throw streamError(part.error);
      default:
        return [];
    }
  }

  private ofText(part: TextPart): UIMessageChunk {
    const ids = part.type.startsWith('text') ? this.texts : this.thoughts;
    const metadata = metadataOf(part);
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const id = ids.open(part.id);
        if (part.type === 'text-start') this.firstText ??= id;
        return { type: part.type, id, ...metadata };
      }
      case 'text-delta': {
        const id = ids.of(part.id);
        return { type: part.type, id, delta: part.delta, ...this.metadataOfDelta(part, id) };
      }
      case 'reasoning-delta':
        return { type: part.type, id: ids.of(part.id), delta: part.delta, ...metadata };
      case 'text-end':
        return {
          type: part.type,
          id: ids.close(part.id),
          ...(part.citations == null ? {} : { citations: part.citations }),
          ...metadata,
        };
      case 'reasoning-end':
        return { type: part.type, id: ids.close(part.id), ...metadata };
    }
  }

  /** As with `streamText`, each delta of the first text repeats the latest metadata of that text. */
  private metadataOfDelta(part: PartOf<'text-delta'>, id: string): { providerMetadata?: Metadata } {
    const metadata = metadataOf(part);
    if (id !== this.firstText) return metadata;
    if (metadata.providerMetadata !== undefined) this.metadataOfFirstText = metadata;
    return part.delta === '' ? metadata : this.metadataOfFirstText;
  }

  private async ofCall(part: LanguageModelV4ToolCall): Promise<UIMessageChunk[]> {
    const call = await parseToolCall({
      toolCall: part,
      tools: this.tools,
      repairToolCall: undefined,
      instructions: undefined,
      messages: [],
      abortSignal: this.signal,
    });
    const { toolCallId, toolName, providerExecuted } = part;
    this.callIds.add(toolCallId);
    const facts = { toolCallId, toolName, input: call.input as unknown, ...executorOf(part), ...metadataOf(part) };
    if (call.invalid !== true) return [{ type: 'tool-input-available', ...facts, dynamic: true }];
    const error: UIMessageChunk = { type: 'tool-input-error', ...facts, dynamic: true, errorText: UNUSABLE_CALL };
    if (providerExecuted === true) return [error];
    return [error, { type: 'tool-output-error', toolCallId, errorText: UNUSABLE_CALL, dynamic: true }];
  }

  /** The result of a tool that the provider executed. */
  private ofResult(part: PartOf<'tool-result'>): UIMessageChunk {
    const { toolCallId, toolName, result, isError, dynamic } = part;
    const facts = {
      providerExecuted: true,
      ...metadataOf(part),
      ...((dynamic != null || Object.hasOwn(this.tools, toolName)) && { dynamic: true }),
    };
    if (isError !== true) return { type: 'tool-output-available', toolCallId, output: result ?? null, ...facts };
    const errorText = typeof result === 'string' ? result : JSON.stringify(result);
    return { type: 'tool-output-error', toolCallId, errorText, ...facts };
  }

  private ofRequest({ approvalId, toolCallId }: PartOf<'tool-approval-request'>): UIMessageChunk {
    if (!this.callIds.has(toolCallId)) throw new ToolCallNotFoundForApprovalError({ toolCallId, approvalId });
    return { type: 'tool-approval-request', approvalId, toolCallId };
  }
}

/** The ids of texts, or of thoughts: a provider can use an id again within one answer. */
class TextIds {
  private readonly used = new Set<string>();
  private readonly opened = new Map<string, string>();

  open(providerId: string): string {
    const id = this.used.has(providerId) ? newPartId() : providerId;
    this.used.add(id);
    this.opened.set(providerId, id);
    return id;
  }

  of(providerId: string): string {
    return this.opened.get(providerId) ?? providerId;
  }

  close(providerId: string): string {
    const id = this.of(providerId);
    this.opened.delete(providerId);
    return id;
  }
}

/** A file at an address keeps the address: the service fetches nothing that a provider names. */
function ofFile(part: PartOf<'file' | 'reasoning-file'>): UIMessageChunk[] {
  const { type, mediaType, data } = part;
  if (data.type === 'url' && !USABLE_ADDRESS.test(data.url.protocol)) return [];
  const url = data.type === 'url' ? data.url.href : `data:${mediaType};base64,${base64Of(data.data)}`;
  return [{ type, mediaType, url, ...metadataOf(part) }];
}

function base64Of(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : Buffer.from(content).toString('base64');
}

function ofInputStart(part: PartOf<'tool-input-start'>): UIMessageChunk {
  return {
    type: 'tool-input-start',
    toolCallId: part.id,
    toolName: part.toolName,
    ...(part.inputEncoding == null ? {} : { inputEncoding: part.inputEncoding }),
    ...executorOf(part),
    ...metadataOf(part),
    dynamic: true,
  };
}

function executorOf({ providerExecuted }: { providerExecuted?: boolean | undefined }): { providerExecuted?: boolean } {
  return providerExecuted == null ? {} : { providerExecuted };
}

type Metadata = NonNullable<TextPart['providerMetadata']>;

function metadataOf({ providerMetadata }: { providerMetadata?: Metadata | undefined }): {
  providerMetadata?: Metadata;
} {
  return providerMetadata == null ? {} : { providerMetadata };
}

type Json = Readonly<Record<string, unknown>>;

/** The statuses of messages that providers write without one. */
const STATUS_OF_MESSAGE: ReadonlyMap<string, number> = new Map([
  ['overloaded', 503],
  ['overloaded error', 503],
  ['model overloaded', 503],
  ['internal server error', 500],
  ['service unavailable', 503],
]);

/**
 * The error that a provider has written into its stream: a document with a message as a `StreamProviderError`, as
 * `streamText` of the AI SDK makes it, and anything else as it is.
 */
function streamError(written: unknown): unknown {
  if (!isRecord(written) || isError(written)) return written;
  const inner = errorIn(written['response']) ?? errorIn(written) ?? written;
  const { message } = inner;
  if (typeof message !== 'string') return written;
  const both = [inner, written];
  const named = STATUS_OF_MESSAGE.get(message.trim().toLowerCase());
  const type = valuesOf(both, 'type').find(isString);
  const code = valuesOf(both, 'code').find((value) => isString(value) || typeof value === 'number');
  const statusCode =
    valuesOf(both, 'statusCode', 'status_code', 'status', 'code').map(toStatus).find(isNumber) ?? named;
  const isRetryable =
    valuesOf(both, 'isRetryable', 'is_retryable').find((value) => typeof value === 'boolean') ??
    (named === undefined ? undefined : true);
  return new StreamProviderError({
    message,
    data: written,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(statusCode !== undefined && { statusCode }),
    ...(isRetryable !== undefined && { isRetryable }),
  });
}

/** Also an error of another realm. */
function isError(value: unknown): boolean {
  return types.isNativeError(value) || AISDKError.isInstance(value);
}

function errorIn(document: unknown): Json | undefined {
  return isRecord(document) && isRecord(document['error']) ? document['error'] : undefined;
}

/** The values of the fields in turn, each in all documents. */
function valuesOf(documents: readonly Json[], ...fields: readonly string[]): unknown[] {
  return fields.flatMap((field) => documents.map((document) => document[field]));
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

/** The HTTP status of an error that a value is, also as a text. */
function toStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599 ? Number(status) : undefined;
}
