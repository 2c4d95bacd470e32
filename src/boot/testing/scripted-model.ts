import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnLoopback } from './loopback-server.js';

/** How the model answers one request. */
export type ModelBehaviour =
  /** Streams the deltas, with a pause before each. */
  | { kind: 'text'; deltas: string[]; delayMs?: number; usage?: ModelUsage }
  /** Calls tools, all in one answer, after the deltas. Script the answer to their results as the next behaviour. */
  | { kind: 'tool-calls'; calls: ModelToolCall[]; deltas?: string[]; delayMs?: number; usage?: ModelUsage }
  /** Refuses with an HTTP status and an error body. */
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  /** Answers every request with this body. */
  | { kind: 'body'; body: string; contentType?: string }
  /** Takes the request and never answers. */
  | { kind: 'hang' }
  /** Streams the deltas and leaves the response open. */
  | { kind: 'hang-after'; deltas: string[] }
  /** Streams the deltas and the beginning of the call, then destroys the connection. */
  | { kind: 'break-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then a frame that is not JSON. */
  | { kind: 'malformed-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then an error frame. */
  | { kind: 'error-after'; deltas: string[]; call?: ModelToolCall; error: object }
  /** Streams the deltas and the beginning of the call, and ends the response without a finish reason. */
  | { kind: 'cut-after'; deltas: string[]; call?: ModelToolCall };

/** A call of a tool by its name in the agent. */
export interface ModelToolCall {
  name: string;
  arguments: object;
  id?: string;
}

/** The token usage that one answer reports. */
export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that came from the provider's cache. */
  cachedInputTokens?: number;
}

/** The part of a chat-completions request that tests read. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  temperature?: number;
  tools?: { type: 'function'; function: { name: string; description?: string; parameters: unknown } }[];
}

/** A request that reached the model. */
export interface ModelRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: ChatRequest;
  /** True if the client disconnected before it received the whole answer. */
  abandoned: boolean;
}

/** A model whose answers a test defines. */
export interface ScriptedModel {
  /** The `base_url` of a provider: `http://127.0.0.1:<port>/v1`. */
  baseUrl: string;
  requests: ModelRequest[];
  /** Adds the behaviours for the next requests, in order. Without a behaviour, a request gets a short text. */
  script(...next: ModelBehaviour[]): void;
  close(): Promise<void>;
}

/** Part of every malformed frame. The service must never forward it to a caller. */
export const PROVIDER_SECRET = 'words-of-the-provider';

const USAGE: ModelUsage = { inputTokens: 11, outputTokens: 7 };
const DEFAULT_BEHAVIOUR: ModelBehaviour = { kind: 'text', deltas: ['Hello ', 'from ', 'the ', 'fake ', 'model.'] };

/**
 * Starts an HTTP server that speaks OpenAI's chat completions API on a free loopback port.
 *
 * @param options.apiKey the only bearer token that the model accepts; without it, the model accepts every request
 * @param options.answer chooses the behaviour by the request, for concurrent runs; scripted behaviours come first
 */
export async function startScriptedModel({
  apiKey,
  answer = () => DEFAULT_BEHAVIOUR,
}: { apiKey?: string; answer?: (request: ChatRequest) => ModelBehaviour } = {}): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  const scripted: ModelBehaviour[] = [];

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers } = request;
    const recorded: ModelRequest = { path: url, headers, body: await readJson(request), abandoned: false };
    requests.push(recorded);
    response.once('close', () => {
      recorded.abandoned = !response.writableFinished;
    });

    if (request.method !== 'POST' || !url.endsWith('/chat/completions')) return refuse(response, 404);
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) return refuse(response, 401);
    await behave(scripted.shift() ?? answer(recorded.body), recorded.body, response);
  }

  const { origin, close } = await listenOnLoopback(server);
  return { baseUrl: `${origin}/v1`, requests, script: (...next) => void scripted.push(...next), close };
}

async function behave(behaviour: ModelBehaviour, { model }: ChatRequest, response: ServerResponse): Promise<void> {
  switch (behaviour.kind) {
    case 'hang':
      return;
    case 'status':
      return refuse(response, behaviour.status, behaviour.headers);
    case 'body':
      response.setHeader('content-type', behaviour.contentType ?? 'text/html');
      response.end(behaviour.body);
      return;
    case 'tool-calls': {
      const answer = new StreamedAnswer(response, model);
      await streamDeltas(answer, behaviour);
      for (const [index, call] of behaviour.calls.entries()) await answer.toolCall(index, call);
      return answer.finish('tool_calls', behaviour.usage);
    }
  }

  const answer = new StreamedAnswer(response, model);
  await streamDeltas(answer, behaviour);
  if ('call' in behaviour && behaviour.call !== undefined) await answer.beginCall(0, behaviour.call);
  switch (behaviour.kind) {
    case 'text':
      return answer.finish('stop', behaviour.usage);
    case 'hang-after':
      return;
    case 'break-after':
      response.destroy();
      return;
    case 'malformed-after':
      await answer.frame(`{"choices": ${PROVIDER_SECRET}`);
      return answer.finish('stop');
    case 'error-after':
      await answer.frame(JSON.stringify({ error: behaviour.error }));
      response.end();
      return;
    case 'cut-after':
      response.end();
  }
}

async function streamDeltas(
  answer: StreamedAnswer,
  { deltas = [], delayMs }: { deltas?: string[]; delayMs?: number },
): Promise<void> {
  for (const content of deltas) {
    if (delayMs !== undefined) await sleep(delayMs);
    await answer.chunk({ content });
  }
}

/** A stream of `chat.completion.chunk` objects. Each frame is flushed before the next one is written. */
class StreamedAnswer {
  private readonly id = `chatcmpl-${randomUUID()}`;
  private readonly response: ServerResponse;
  private readonly model: string;

  constructor(response: ServerResponse, model: string) {
    this.response = response;
    this.model = model;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  chunk(delta: object, rest: object = {}): Promise<void> {
    const choices = [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null, ...rest }];
    return this.send({ choices });
  }

  /** Streams a call as OpenAI does: the name first, then the arguments in pieces. */
  async toolCall(index: number, call: ModelToolCall): Promise<void> {
    const rest = await this.beginCall(index, call);
    await this.chunk({ tool_calls: [{ index, function: { arguments: rest } }] });
  }

  /** Streams the name and the first half of the arguments. Returns the other half. */
  async beginCall(
    index: number,
    { id = `call_${randomUUID()}`, name, arguments: input }: ModelToolCall,
  ): Promise<string> {
    const json = JSON.stringify(input);
    const half = Math.ceil(json.length / 2);
    await this.chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    await this.chunk({ tool_calls: [{ index, function: { arguments: json.slice(0, half) } }] });
    return json.slice(half);
  }

  async finish(reason: 'stop' | 'tool_calls', reported: ModelUsage = USAGE): Promise<void> {
    const { inputTokens, outputTokens, cachedInputTokens } = reported;
    await this.chunk({}, { finish_reason: reason });
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    };
    await this.send({ choices: [], usage });
    await this.frame('[DONE]');
    this.response.end();
  }

  frame(data: string): Promise<void> {
    return new Promise((resolve) => {
      this.response.write(`data: ${data}\n\n`, () => resolve());
    });
  }

  private send(fields: object): Promise<void> {
    const { id, model } = this;
    return this.frame(JSON.stringify({ id, object: 'chat.completion.chunk', created: 1, model, ...fields }));
  }
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  const { authorization = 'no key' } = response.req.headers;
  const message = `No answer to you, who sent ${authorization}`;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'fake_error', code: null } }));
}

async function readJson(request: IncomingMessage): Promise<ChatRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString()) as ChatRequest;
}
