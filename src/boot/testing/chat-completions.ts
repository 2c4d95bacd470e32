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
} from './model-server.js';

/** The part of a chat-completions request that tests read. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  temperature?: number;
  tools?: { type: 'function'; function: { name: string; description?: string; parameters: unknown } }[];
}

/** OpenAI's chat completions API. */
export class ChatCompletions implements ModelApi<ChatRequest> {
  readonly basePath: string = '/v1';

  /** @param apiKey the only bearer token that the model accepts; undefined accepts every request */
  constructor(protected readonly apiKey?: string) {}

  refusalOf({ method, path, headers }: ReceivedRequest): number | undefined {
    if (method !== 'POST' || !path.endsWith('/chat/completions')) return 404;
    return this.apiKey === undefined || headers.authorization === `Bearer ${this.apiKey}` ? undefined : 401;
  }

  errorDocument(_status: number, { authorization = 'no key' }: IncomingHttpHeaders): unknown {
    const message = `No answer to you, who sent ${authorization}`;
    return { error: { message, type: 'fake_error', code: null } };
  }

  answer(response: ServerResponse, { body }: { body: ChatRequest }): StreamedAnswer {
    return new ChatAnswer(response, body.model);
  }
}

/** A stream of `chat.completion.chunk` objects. */
export class ChatAnswer implements StreamedAnswer {
  protected readonly frames: ServerSentFrames;
  private readonly id = `chatcmpl-${randomUUID()}`;

  constructor(
    response: ServerResponse,
    private readonly model: string,
  ) {
    this.frames = new ServerSentFrames(response);
  }

  text(content: string): Promise<void> {
    return this.chunk({ content });
  }

  /** Streams a call as OpenAI does: the name first, then the arguments in pieces. */
  async toolCall(index: number, call: ModelToolCall): Promise<void> {
    const rest = await this.beginCall(index, call);
    await this.chunk({ tool_calls: [{ index, function: { arguments: rest } }] });
  }

  /** Returns the other half of the arguments. */
  async beginCall(index: number, { id = this.newCallId(), name, arguments: input }: ModelToolCall): Promise<string> {
    const json = JSON.stringify(input);
    const half = Math.ceil(json.length / 2);
    await this.chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    await this.chunk({ tool_calls: [{ index, function: { arguments: json.slice(0, half) } }] });
    return json.slice(half);
  }

  malformed(): Promise<void> {
    return this.frames.write(`{"choices": ${PROVIDER_SECRET}`);
  }

  error(error: object): Promise<void> {
    return this.frames.write(JSON.stringify({ error }));
  }

  async finish(reason: 'stop' | 'tool-calls', reported: ModelUsage): Promise<void> {
    const { inputTokens, outputTokens, cachedInputTokens } = reported;
    await this.chunk({}, { finish_reason: reason === 'stop' ? 'stop' : 'tool_calls' });
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    };
    await this.send({ choices: [], usage });
    await this.frames.write('[DONE]');
    this.frames.end();
  }

  protected newCallId(): string {
    return `call_${randomUUID()}`;
  }

  protected chunk(delta: object, rest: object = {}, fields: object = {}): Promise<void> {
    const choices = [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null, ...rest }];
    return this.send({ choices, ...fields });
  }

  private send(fields: object): Promise<void> {
    const { id, model } = this;
    return this.frames.write(JSON.stringify({ id, object: 'chat.completion.chunk', created: 1, model, ...fields }));
  }
}
