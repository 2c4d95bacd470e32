import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ModelToolCall,
  type ModelUsage,
  PROVIDER_SECRET,
  type ModelApi,
  type ReceivedRequest,
  type StreamedAnswer,
} from '../../../src/boot/testing/model-server.js';
import { type AwsAccess, isSigned } from './aws-signature.js';
import { eventStreamMessage } from './event-stream-message.js';

/** The part of a Converse request that tests read. */
export interface BedrockRequest {
  messages: { role: string; content: Record<string, unknown>[] }[];
  system?: { text: string }[];
  inferenceConfig?: { temperature?: number; maxTokens?: number };
  toolConfig?: { tools: { toolSpec: { name: string } }[] };
}

/** The access that the servers of tests accept. */
export const AWS_ACCESS = {
  region: 'eu-central-1',
  accessKeyId: 'AKIATHATNOBODYMAYSEE',
  secretAccessKey: 'secret/that+nobody/may/see/0123456789',
  sessionToken: 'token/that+nobody/may/see/0123456789==',
} as const satisfies AwsAccess;

/** The same as fields of a provider. */
export const BEDROCK_FIELDS = {
  kind: 'bedrock',
  region: AWS_ACCESS.region,
  access_key_id: AWS_ACCESS.accessKeyId,
  secret_access_key: AWS_ACCESS.secretAccessKey,
  session_token: AWS_ACCESS.sessionToken,
} as const;

const PATH = /^\/model\/[^/]+\/converse-stream$/;

/** Amazon Bedrock's ConverseStream. Verifies the signature of each request. */
export class BedrockApi implements ModelApi<BedrockRequest> {
  readonly basePath = '';

  constructor(private readonly access: AwsAccess) {}

  refusalOf(request: ReceivedRequest): number | undefined {
    if (request.method !== 'POST' || !PATH.test(request.path)) return 404;
    return isSigned(request, this.access) ? undefined : 403;
  }

  /** AWS quotes the headers that it expected to be signed. */
  errorDocument(status: number, headers: IncomingHttpHeaders): unknown {
    const token = String(headers['x-amz-security-token']);
    const quoted = `'x-amz-security-token:${token}' for the key ${headers.authorization?.split('/')[0] ?? ''}`;
    return status === 403
      ? { message: `The request signature we calculated does not match. The Canonical String should have ${quoted}` }
      : { message: `The provided model identifier is invalid: ${quoted}.` };
  }

  answer(response: ServerResponse): StreamedAnswer {
    return new BedrockAnswer(response);
  }
}

class BedrockAnswer implements StreamedAnswer {
  private hasText = false;
  private isBegun = false;

  constructor(private readonly response: ServerResponse) {
    const headers = { 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-requestid': randomUUID() };
    response.writeHead(200, headers);
  }

  async text(text: string): Promise<void> {
    await this.begin();
    this.hasText = true;
    await this.event('contentBlockDelta', { contentBlockIndex: 0, delta: { text } });
  }

  async toolCall(
    index: number,
    { id = `tooluse_${randomUUID()}`, name, arguments: args }: ModelToolCall,
  ): Promise<void> {
    await this.begin();
    const contentBlockIndex = index + 1;
    await this.event('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } });
    const json = JSON.stringify(args);
    const half = Math.ceil(json.length / 2);
    for (const input of [json.slice(0, half), json.slice(half)]) {
      await this.event('contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } });
    }
    await this.event('contentBlockStop', { contentBlockIndex });
  }

  /** A message whose bytes were changed on the way: its CRC is wrong. */
  async malformed(): Promise<void> {
    const message = encoded('event', 'contentBlockDelta', { contentBlockIndex: 0, delta: { text: PROVIDER_SECRET } });
    message[message.length - 10] = 0;
    // Its reader loses what has not been read yet.
    await sleep(50);
    await this.write(message);
  }

  /** @param error with `type`, the name of the exception, and the members of its payload */
  error({ type = 'internalServerException', ...payload }: { type?: string }): Promise<void> {
    return this.write(encoded('exception', type, payload));
  }

  async finish(
    reason: 'stop' | 'tool-calls',
    { inputTokens, outputTokens, cachedInputTokens = 0 }: ModelUsage,
  ): Promise<void> {
    await this.begin();
    if (this.hasText) await this.event('contentBlockStop', { contentBlockIndex: 0 });
    await this.event('messageStop', { stopReason: reason === 'stop' ? 'end_turn' : 'tool_use' });
    // `inputTokens` of Bedrock does not include what came from the cache.
    const usage = {
      inputTokens: inputTokens - cachedInputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cacheReadInputTokens: cachedInputTokens,
    };
    await this.event('metadata', { usage, metrics: { latencyMs: 1 } });
    this.response.end();
  }

  private async begin(): Promise<void> {
    if (this.isBegun) return;
    this.isBegun = true;
    await this.event('messageStart', { role: 'assistant' });
  }

  private event(type: string, payload: object): Promise<void> {
    // Padding, by which Bedrock hides the lengths of tokens.
    return this.write(encoded('event', type, { ...payload, p: 'abcdefgh' }));
  }

  /** In two parts, as networks deliver it. */
  private async write(message: Buffer): Promise<void> {
    for (const part of [message.subarray(0, 20), message.subarray(20)]) {
      await new Promise<void>((resolve) => this.response.write(part, () => resolve()));
    }
  }
}

function encoded(messageType: 'event' | 'exception', type: string, payload: object): Buffer {
  const headers = {
    [`:${messageType}-type`]: type,
    ':content-type': 'application/json',
    ':message-type': messageType,
  };
  return eventStreamMessage(headers, payload);
}
