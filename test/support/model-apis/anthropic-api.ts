import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  type ModelToolCall,
  type ModelUsage,
  PROVIDER_SECRET,
  type ModelApi,
  type ReceivedRequest,
  type StreamedAnswer,
  ServerSentFrames,
} from '../../../src/boot/testing/model-server.js';

/** Anthropic's messages API. */
export class AnthropicApi implements ModelApi<Record<string, unknown>> {
  readonly basePath = '/v1';

  constructor(private readonly apiKey: string) {}

  refusalOf({ method, path, headers }: ReceivedRequest): number | undefined {
    if (method !== 'POST' || path !== '/v1/messages') return 404;
    return headers['x-api-key'] === this.apiKey ? undefined : 401;
  }

  errorDocument(status: number, headers: IncomingHttpHeaders): unknown {
    const message = `No answer to ${String(headers['x-api-key'])}`;
    return { type: 'error', error: { type: status === 401 ? 'authentication_error' : 'fake_error', message } };
  }

  answer(response: ServerResponse, { body }: { body: Record<string, unknown> }): StreamedAnswer {
    return new AnthropicAnswer(response, String(body['model']));
  }
}

/** A stream of events of the API: blocks of content between the beginning and the end of a message. */
class AnthropicAnswer implements StreamedAnswer {
  private readonly frames: ServerSentFrames;
  private isBegun = false;
  private isInText = false;
  private blocks = 0;

  constructor(
    response: ServerResponse,
    private readonly model: string,
  ) {
    this.frames = new ServerSentFrames(response);
  }

  async text(text: string): Promise<void> {
    if (!this.isInText) await this.beginBlock({ type: 'text', text: '' });
    this.isInText = true;
    await this.delta({ type: 'text_delta', text });
  }

  async toolCall(_index: number, { id, name, arguments: input }: ModelToolCall): Promise<void> {
    await this.endText();
    await this.beginBlock({ type: 'tool_use', id: id ?? `toolu_${randomUUID()}`, name, input: {} });
    await this.delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
    await this.endBlock();
  }

  malformed(): Promise<void> {
    return this.frames.write(`{"type": ${PROVIDER_SECRET}`);
  }

  error(error: object): Promise<void> {
    return this.event('error', { error });
  }

  async finish(reason: 'stop' | 'tool-calls', { inputTokens, outputTokens }: ModelUsage): Promise<void> {
    await this.endText();
    const delta = { stop_reason: reason === 'stop' ? 'end_turn' : 'tool_use', stop_sequence: null };
    await this.event('message_delta', { delta, usage: { input_tokens: inputTokens, output_tokens: outputTokens } });
    await this.event('message_stop', {});
    this.frames.end();
  }

  private async begin(): Promise<void> {
    if (this.isBegun) return;
    this.isBegun = true;
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: this.model, content: [] };
    await this.event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
  }

  private async beginBlock(block: object): Promise<void> {
    await this.begin();
    await this.event('content_block_start', { index: this.blocks, content_block: block });
  }

  private delta(delta: object): Promise<void> {
    return this.event('content_block_delta', { index: this.blocks, delta });
  }

  private endBlock(): Promise<void> {
    return this.event('content_block_stop', { index: this.blocks++ });
  }

  private async endText(): Promise<void> {
    if (this.isInText) await this.endBlock();
    this.isInText = false;
  }

  private event(type: string, fields: object): Promise<void> {
    return this.frames.write(JSON.stringify({ type, ...fields }), type);
  }
}
