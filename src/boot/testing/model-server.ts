import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnLoopback } from './loopback-server.js';

/** How the model answers one request. */
export type ModelBehaviour =
  /** Streams the deltas. */
  | ({ kind: 'text'; deltas: string[] } & Paced)
  /** Calls tools, all in one answer, after the deltas. Script the answer to their results as the next behaviour. */
  | ({ kind: 'tool-calls'; calls: ModelToolCall[]; deltas?: string[] } & Paced)
  /** Refuses with an HTTP status and an error document: by default one of the API that quotes the credential. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; document?: unknown }
  /** Answers every request with this body. */
  | { kind: 'body'; body: string; contentType?: string }
  /** Takes the request and never answers. */
  | { kind: 'hang' }
  /** Streams the deltas and the beginning of the call, and leaves the response open. */
  | { kind: 'hang-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then destroys the connection. */
  | { kind: 'break-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then a frame that is not JSON. */
  | { kind: 'malformed-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then an error frame of the API. */
  | { kind: 'error-after'; deltas: string[]; call?: ModelToolCall; error: object }
  /** Streams the deltas and the beginning of the call, and ends the response without a finish reason. */
  | { kind: 'cut-after'; deltas: string[]; call?: ModelToolCall };

/** How fast an answer comes, and what it reports. */
interface Paced {
  /** A pause before each delta. */
  delayMs?: number;
  /** What the answer waits for after its deltas, before it goes on. */
  until?: Promise<unknown>;
  usage?: ModelUsage;
}

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

/** Part of every malformed frame. The service must never forward it to a caller. */
export const PROVIDER_SECRET = 'words-of-the-provider';

/** A request as it arrived, for `ModelApi.refusalOf`. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** The API of a provider, as a model server speaks it. */
export interface ModelApi<Body> {
  /** What a provider's base URL has after the origin, such as `/v1`. */
  readonly basePath: string;
  /** The HTTP status with which the API refuses the request, whatever the script says; undefined if it accepts it. */
  refusalOf(request: ReceivedRequest): number | undefined;
  /** An error document that quotes the credential, as careless providers do. */
  errorDocument(status: number, headers: IncomingHttpHeaders): unknown;
  /** Begins an answer with the status 200. */
  answer(response: ServerResponse, request: { path: string; body: Body }): StreamedAnswer;
}

/** An answer in progress. Each promise is fulfilled when the frame has been flushed. */
export interface StreamedAnswer {
  text(delta: string): Promise<void>;
  toolCall(index: number, call: ModelToolCall): Promise<void>;
  /** The name and the first half of the arguments. Absent where the API sends calls whole, or no test needs it. */
  beginCall?(index: number, call: ModelToolCall): Promise<unknown>;
  /** A frame that breaks the rules of the API. */
  malformed(): Promise<void>;
  error(error: object): Promise<void>;
  /** The frames with the reason and the usage; ends the response. */
  finish(reason: 'stop' | 'tool-calls', usage: ModelUsage): Promise<void>;
}

/** A request that reached the model. */
export interface ModelRequest<Body> {
  path: string;
  headers: IncomingHttpHeaders;
  body: Body;
  /** True if the client disconnected before it received the whole answer. */
  abandoned: boolean;
}

/** A model whose answers a test defines. */
export interface ModelServer<Body> {
  /** The `base_url` of a provider. */
  baseUrl: string;
  requests: ModelRequest<Body>[];
  /** Adds the behaviours for the next requests, in order. Without a behaviour, a request gets a short text. */
  script(...next: ModelBehaviour[]): void;
  close(): Promise<void>;
}

const USAGE: ModelUsage = { inputTokens: 11, outputTokens: 7 };
const DEFAULT_BEHAVIOUR: ModelBehaviour = { kind: 'text', deltas: ['Hello ', 'from ', 'the ', 'fake ', 'model.'] };

/**
 * Starts an HTTP server that speaks the API of a provider on a free loopback port.
 *
 * @param answer chooses the behaviour by the request, for concurrent runs; scripted behaviours come first
 */
export async function startModelServer<Body>(
  api: ModelApi<Body>,
  answer: (request: Body) => ModelBehaviour = () => DEFAULT_BEHAVIOUR,
): Promise<ModelServer<Body>> {
  const requests: ModelRequest<Body>[] = [];
  const scripted: ModelBehaviour[] = [];

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const text = await readText(request);
    // Who asks for a list of models has no body.
    if (text === '') return refuse(response, { status: 404 });
    const recorded: ModelRequest<Body> = { path, headers, body: JSON.parse(text) as Body, abandoned: false };
    requests.push(recorded);
    response.once('close', () => {
      recorded.abandoned = !response.writableFinished;
    });

    const refused = api.refusalOf({ method, path, headers, text });
    if (refused === undefined) await behave(scripted.shift() ?? answer(recorded.body), recorded, response);
    else refuse(response, { status: refused });
  }

  function refuse(response: ServerResponse, refusal: Omit<Extract<ModelBehaviour, { kind: 'status' }>, 'kind'>): void {
    const { status, headers = {}, document = api.errorDocument(status, response.req.headers) } = refusal;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  }

  async function behave(
    behaviour: ModelBehaviour,
    request: { path: string; body: Body },
    response: ServerResponse,
  ): Promise<void> {
    switch (behaviour.kind) {
      case 'hang':
        return;
      case 'status':
        return refuse(response, behaviour);
      case 'body':
        response.setHeader('content-type', behaviour.contentType ?? 'text/html');
        response.end(behaviour.body);
        return;
    }

    const answering = api.answer(response, request);
    const { deltas = [], delayMs = 0 } = 'delayMs' in behaviour ? behaviour : { deltas: behaviour.deltas };
    for (const delta of deltas) {
      if (delayMs > 0) await sleep(delayMs);
      await answering.text(delta);
    }
    if ('until' in behaviour) await behaviour.until;
    if ('call' in behaviour && behaviour.call !== undefined) {
      if (answering.beginCall === undefined) throw new Error('This API does not send the beginning of a call.');
      await answering.beginCall(0, behaviour.call);
    }
    switch (behaviour.kind) {
      case 'text':
        return answering.finish('stop', behaviour.usage ?? USAGE);
      case 'tool-calls':
        for (const [index, call] of behaviour.calls.entries()) await answering.toolCall(index, call);
        return answering.finish('tool-calls', behaviour.usage ?? USAGE);
      case 'hang-after':
        return;
      case 'break-after':
        response.destroy();
        return;
      case 'malformed-after':
        await answering.malformed();
        return answering.finish('stop', USAGE);
      case 'error-after':
        await answering.error(behaviour.error);
        response.end();
        return;
      case 'cut-after':
        response.end();
    }
  }

  const { origin, close } = await listenOnLoopback(server);
  return { baseUrl: `${origin}${api.basePath}`, requests, script: (...next) => void scripted.push(...next), close };
}

async function readText(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

/** The answer of an API that streams server-sent events. Each frame is flushed before the next one is written. */
export class ServerSentFrames {
  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  write(data: string, event?: string): Promise<void> {
    return new Promise((resolve) => {
      const name = event === undefined ? '' : `event: ${event}\n`;
      this.response.write(`${name}data: ${data}\n\n`, () => resolve());
    });
  }

  end(): void {
    this.response.end();
  }
}
