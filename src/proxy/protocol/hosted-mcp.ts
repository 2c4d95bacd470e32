import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createMcpHandler, type McpHttpHandler, type Server, type ServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { untilClosed } from '../../platform/http/once-closed.js';
import { dataOf } from '../../upstreams/messages/sse-parts.js';
import { sendNoAnswer } from './inbound-message.js';

/** Builds the MCP server that answers one request, for the caller of that request. */
type ServerFor<T> = (context: T) => Server;

const JSON_TYPE = 'application/json';
const EVENT_STREAM = 'text/event-stream';

/** What a stream begins with, so that the caller gets its headers before the first message. */
const BEGINNING = Buffer.from(': keep-alive\n\n');

/** Headers of event streams, which a JSON body does not get. */
const STREAM_HEADERS: ReadonlySet<string> = new Set(['cache-control', 'x-accel-buffering']);

/** Response headers that Fastify sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);

/**
 * Serves an MCP server of this service on a Fastify route, for both protocol eras. Each request gets its own server
 * instance, so there is no state between requests and any process can answer. `T` is what the server needs to know of
 * its caller.
 */
export class HostedMcp<T> {
  private readonly handler: McpHttpHandler;
  private readonly isLong: boolean;
  private readonly contexts = new WeakMap<Request, T>();

  /**
   * @param options.bus publishes to subscriptions (`subscriptions/listen`)
   * @param options.responseMode `sse` for answers that take long: the stream begins at once, and is kept open
   */
  constructor(serverFor: ServerFor<T>, options: { bus?: ServerEventBus; responseMode?: 'sse' } = {}) {
    this.isLong = options.responseMode === 'sse';
    this.handler = createMcpHandler(({ requestInfo }) => serverFor(this.contextOf(requestInfo)), options);
  }

  /**
   * @param message the parsed body; undefined for a request without one
   * @param cancelled aborted when the client cancels the request, which is not answered then
   */
  async answerRequest(
    request: FastifyRequest,
    reply: FastifyReply,
    message: unknown,
    context: T,
    cancelled?: AbortSignal,
  ): Promise<void> {
    // The handler notices only what is cancelled from now on.
    const isCancelled = (): boolean => cancelled?.aborted === true;
    if (isCancelled()) return sendNoAnswer(request, reply);
    const closed = untilClosed(reply);
    const forwarded = new Request(`http://signalbox.internal${request.url}`, {
      // Fastify sends only the head of the answer.
      method: request.method === 'HEAD' ? 'GET' : request.method,
      headers: headersOf(request),
      signal: cancelled === undefined ? closed : AbortSignal.any([closed, cancelled]),
      ...(request.method === 'POST' && { body: '{}' }),
    });
    this.contexts.set(forwarded, context);
    const response = await this.handler.fetch(forwarded, { parsedBody: message });
    reply.status(response.status);
    const isStream = response.headers.get('content-type')?.startsWith(EVENT_STREAM) === true;
    const needsJson = request.method === 'POST' && request.headers.accept?.includes(EVENT_STREAM) !== true;
    const isCollected = isStream && needsJson;
    for (const [name, value] of response.headers) {
      const isDropped =
        OWN_HEADERS.has(name) ||
        ((!isStream || needsJson) && STREAM_HEADERS.has(name)) ||
        (isCollected && name === 'content-type');
      if (!isDropped) reply.header(name, value);
    }
    if (isCollected) {
      const answer = answerIn(await response.text());
      await (isCancelled() ? sendNoAnswer(request, reply) : reply.header('content-type', JSON_TYPE).send(answer));
      return;
    }
    const body = response.body as ReadableStream<Uint8Array> | null;
    if (body !== null && isStream && this.isLong) void reply.send(Readable.from(begun(body), { objectMode: false }));
    else void reply.send(body === null ? undefined : Readable.fromWeb(body));
  }

  close(): Promise<void> {
    return this.handler.close();
  }

  private contextOf(request: Request | undefined): T {
    const context = request && this.contexts.get(request);
    if (context === undefined) throw new Error('The MCP server received a request without a context.');
    return context;
  }
}

async function* begun(events: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield BEGINNING;
  yield* events;
}

/** The last message of a stream: the answer to its request. */
function answerIn(events: string): string {
  const messages = events.split('\n\n').flatMap((event) => dataOf(Buffer.from(event)) ?? []);
  return messages.at(-1) ?? '';
}

/**
 * The headers of the MCP transport, without the credential. The SDK's server answers a POST only if the client accepts
 * both content types; `answer` converts for a client that does not.
 */
function headersOf({ headers, method }: FastifyRequest): Headers {
  const forwarded = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isOfTransport =
      name === 'accept' || name === 'content-type' || name === 'last-event-id' || name.startsWith('mcp-');
    if (isOfTransport && typeof value === 'string') forwarded.set(name, value);
  }
  if (method === 'POST') forwarded.set('accept', `${JSON_TYPE}, ${EVENT_STREAM}`);
  return forwarded;
}
