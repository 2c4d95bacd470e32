import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createMcpHandler, type McpHttpHandler, type Server, type ServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { untilClosed } from '../../http/once-closed.js';
import { dataOf } from '../../upstreams/messages/sse-parts.js';

/** Builds the MCP server that answers one request, for the caller of that request. */
export type ServerFor<T> = (context: T) => Server;

const JSON_TYPE = 'application/json';
const EVENT_STREAM = 'text/event-stream';

/** Of event streams; one JSON body has the headers of every other answer. */
const STREAM_HEADERS: ReadonlySet<string> = new Set(['cache-control', 'x-accel-buffering']);

/** Response headers that Fastify sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);

/**
 * An MCP server of our own behind a Fastify route, for both protocol eras: each request is answered by a server that is made
 * for it, so nothing is kept between requests and any process can answer. `T` is what the server needs to know of its caller.
 */
export class HostedMcp<T> {
  private readonly handler: McpHttpHandler;
  private readonly contexts = new WeakMap<Request, T>();

  /** @param bus what subscriptions (`subscriptions/listen`) hear of; nothing without one */
  constructor(serverFor: ServerFor<T>, bus?: ServerEventBus) {
    const options = bus === undefined ? {} : { bus };
    this.handler = createMcpHandler(({ requestInfo }) => serverFor(this.contextOf(requestInfo)), options);
  }

  /** @param message the parsed body; undefined for a request without one */
  async answer(request: FastifyRequest, reply: FastifyReply, message: unknown, context: T): Promise<void> {
    const asked = new Request(`http://signalbox.internal${request.url}`, {
      method: request.method,
      headers: headersOf(request),
      signal: untilClosed(reply),
      ...(request.method === 'POST' && { body: '{}' }),
    });
    this.contexts.set(asked, context);
    const response = await this.handler.fetch(asked, { parsedBody: message });
    reply.status(response.status);
    const isStream = response.headers.get('content-type')?.startsWith(EVENT_STREAM) === true;
    const takesNoStream = request.method === 'POST' && request.headers.accept?.includes(EVENT_STREAM) !== true;
    for (const [name, value] of response.headers) {
      const isDropped = OWN_HEADERS.has(name) || ((!isStream || takesNoStream) && STREAM_HEADERS.has(name));
      if (!isDropped) reply.header(name, value);
    }
    if (isStream && takesNoStream) {
      await reply.header('content-type', JSON_TYPE).send(answerIn(await response.text()));
      return;
    }
    void reply.send(response.body === null ? undefined : Readable.fromWeb(response.body as ReadableStream));
  }

  close(): Promise<void> {
    return this.handler.close();
  }

  private contextOf(request: Request | undefined): T {
    const context = request && this.contexts.get(request);
    if (context === undefined) throw new Error('A request reached an MCP server without its context.');
    return context;
  }
}

/** The message that ends a stream: the answer to its request. */
function answerIn(events: string): string {
  const messages = events.split('\n\n').flatMap((event) => dataOf(Buffer.from(event)) ?? []);
  return messages.at(-1) ?? '';
}

/**
 * What belongs to the MCP transport; the credential stays here. The server behind answers a POST only to a caller that takes
 * both forms; whoever does not gets one JSON body.
 */
function headersOf({ headers, method }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isOfTransport =
      name === 'accept' || name === 'content-type' || name === 'last-event-id' || name.startsWith('mcp-');
    if (isOfTransport && typeof value === 'string') kept.set(name, value);
  }
  if (method === 'POST') kept.set('accept', `${JSON_TYPE}, ${EVENT_STREAM}`);
  return kept;
}
