import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the fake does with one request. */
export type Behaviour =
  /** Streams the deltas, with a pause before each. */
  | { kind: 'text'; deltas: string[]; delayMs?: number }
  /** Asks for tools, all in one answer. Script the text that follows their results as the next behaviour. */
  | { kind: 'tool-calls'; calls: FakeToolCall[] }
  /** Refuses, with a body in which OpenAI would quote the key. */
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  /** Answers with this body, whatever was asked for. */
  | { kind: 'body'; body: string; contentType?: string }
  /** Takes the request and never answers. */
  | { kind: 'hang' }
  /** Streams the deltas, then nothing more. */
  | { kind: 'hang-after'; deltas: string[] }
  /** Streams the deltas, then destroys the connection. */
  | { kind: 'break-after'; deltas: string[] }
  /** Streams the deltas, then a frame that is not JSON. */
  | { kind: 'malformed-after'; deltas: string[] }
  /** Streams the deltas, then an error frame. */
  | { kind: 'error-after'; deltas: string[]; error: object }
  /** Streams the deltas and ends as if nothing were missing. */
  | { kind: 'cut-after'; deltas: string[] };

export interface FakeToolCall {
  name: string;
  arguments: object;
  id?: string;
}

/** The part of a chat-completions request that tests look at. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  temperature?: number;
  tools?: { type: 'function'; function: { name: string; description?: string; parameters: unknown } }[];
}

export interface RecordedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: ChatRequest;
  /** Whether the caller hung up before it had the whole answer. */
  abandoned: boolean;
}

export interface FakeOpenAI {
  /** What a provider's `base_url` is set to: `http://127.0.0.1:<port>/v1`. */
  baseUrl: string;
  requests: RecordedRequest[];
  /** The behaviours of the next requests, in order. After them the fake is friendly again. */
  script(...next: Behaviour[]): void;
  close(): Promise<void>;
}

/** Every body of a refusal and every broken frame of the fake holds this, and no message of ours ever may. */
export const PROVIDER_SECRET = 'words-of-the-provider';

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const FRIENDLY: Behaviour = { kind: 'text', deltas: ['Hello ', 'from ', 'the ', 'fake ', 'model.'] };

/**
 * Starts a server that speaks OpenAI's chat completions on a free loopback port.
 *
 * @param apiKey the only bearer token that is let in; without it every caller is
 */
export async function startFakeOpenAI({ apiKey }: { apiKey?: string } = {}): Promise<FakeOpenAI> {
  const requests: RecordedRequest[] = [];
  const scripted: Behaviour[] = [];

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers } = request;
    const recorded: RecordedRequest = { path: url, headers, body: await readJson(request), abandoned: false };
    requests.push(recorded);
    response.once('close', () => {
      recorded.abandoned = !response.writableFinished;
    });

    if (request.method !== 'POST' || !url.endsWith('/chat/completions')) return refuse(response, 404);
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) return refuse(response, 401);
    await behave(scripted.shift() ?? FRIENDLY, recorded.body, response);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    script: (...next) => void scripted.push(...next),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function behave(behaviour: Behaviour, { model }: ChatRequest, response: ServerResponse): Promise<void> {
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
      for (const [index, call] of behaviour.calls.entries()) await answer.toolCall(index, call);
      return answer.finish('tool_calls');
    }
  }

  const answer = new StreamedAnswer(response, model);
  for (const content of behaviour.deltas) {
    if (behaviour.kind === 'text' && behaviour.delayMs !== undefined) await sleep(behaviour.delayMs);
    await answer.chunk({ content });
  }
  switch (behaviour.kind) {
    case 'text':
      return answer.finish('stop');
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

/** A `chat.completion.chunk` stream. Every frame is on its way before the next one is written. */
class StreamedAnswer {
  private readonly id = `chatcmpl-${randomUUID()}`;

  constructor(
    private readonly response: ServerResponse,
    private readonly model: string,
  ) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  chunk(delta: object, rest: object = {}): Promise<void> {
    const choices = [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null, ...rest }];
    return this.send({ choices });
  }

  /** As OpenAI streams it: the name first, then the arguments in pieces. */
  async toolCall(index: number, { id = `call_${randomUUID()}`, name, arguments: input }: FakeToolCall): Promise<void> {
    const json = JSON.stringify(input);
    const half = Math.ceil(json.length / 2);
    await this.chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of [json.slice(0, half), json.slice(half)]) {
      await this.chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }

  async finish(reason: 'stop' | 'tool_calls'): Promise<void> {
    await this.chunk({}, { finish_reason: reason });
    await this.send({ choices: [], usage: USAGE });
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
  const message = `${PROVIDER_SECRET}: you came with ${authorization}`;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'fake_error', code: null } }));
}

async function readJson(request: IncomingMessage): Promise<ChatRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString()) as ChatRequest;
}
