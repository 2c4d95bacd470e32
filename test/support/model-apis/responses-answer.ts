import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  type ModelToolCall,
  type ModelUsage,
  PROVIDER_SECRET,
  type StreamedAnswer,
  ServerSentFrames,
} from '../../../src/boot/testing/model-server.js';

/** A stream of events of OpenAI's responses API. */
export class ResponsesAnswer implements StreamedAnswer {
  private readonly frames: ServerSentFrames;
  private readonly response: object;
  private readonly messageId = `msg_${randomUUID()}`;
  private sequence = 0;
  private outputs = 0;
  private readonly output: object[] = [];
  /** The text of the message; undefined before its first piece. */
  private message: string | undefined;
  private isBegun = false;

  constructor(response: ServerResponse, model: string) {
    this.frames = new ServerSentFrames(response);
    this.response = { id: `resp_${randomUUID()}`, object: 'response', created_at: 1, model, status: 'in_progress' };
  }

  async text(delta: string): Promise<void> {
    await this.begin();
    if (this.message === undefined) {
      const item = { type: 'message', id: this.messageId, role: 'assistant', status: 'in_progress', content: [] };
      await this.event('response.output_item.added', { output_index: this.outputs++, item });
    }
    this.message = (this.message ?? '') + delta;
    await this.event('response.output_text.delta', { item_id: this.messageId, output_index: 0, delta });
  }

  /** Streams a call as the API does: the item first, then the arguments in pieces, then the whole item. */
  async toolCall(
    _index: number,
    { id = `call_${randomUUID()}`, name, arguments: input }: ModelToolCall,
  ): Promise<void> {
    await this.begin();
    const json = JSON.stringify(input);
    const item = { type: 'function_call', id: `fc_${randomUUID()}`, call_id: id, ...this.named(name), arguments: '' };
    const at = { output_index: this.outputs++ };
    await this.event('response.output_item.added', { ...at, item });
    const half = Math.ceil(json.length / 2);
    for (const delta of [json.slice(0, half), json.slice(half)]) {
      await this.event('response.function_call_arguments.delta', { ...at, item_id: item.id, delta });
    }
    const done = { ...item, arguments: json, status: 'completed' };
    this.output.push(done);
    await this.event('response.output_item.done', { ...at, item: done });
  }

  /** How a call names its tool. */
  protected named(name: string): object {
    return { name };
  }

  malformed(): Promise<void> {
    return this.frames.write(`{"type": ${PROVIDER_SECRET}`);
  }

  /** An error event, which the API also sends before anything else. */
  error(error: object): Promise<void> {
    return this.event('error', error);
  }

  async finish(
    _reason: 'stop' | 'tool-calls',
    { inputTokens, outputTokens, cachedInputTokens = 0 }: ModelUsage,
  ): Promise<void> {
    await this.begin();
    if (this.message !== undefined) {
      const content = [{ type: 'output_text', text: this.message, annotations: [] }];
      const item = { type: 'message', id: this.messageId, role: 'assistant', status: 'completed', content };
      this.output.push(item);
      await this.event('response.output_item.done', { output_index: 0, item });
    }
    const usage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    };
    await this.event('response.completed', {
      response: { ...this.response, status: 'completed', output: this.output, usage },
    });
    this.frames.end();
  }

  private async begin(): Promise<void> {
    if (this.isBegun) return;
    this.isBegun = true;
    await this.event('response.created', { response: this.response });
  }

  private event(type: string, fields: object): Promise<void> {
    return this.frames.write(JSON.stringify({ type, sequence_number: this.sequence++, ...fields }), type);
  }
}
