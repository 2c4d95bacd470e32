import { PassThrough } from 'node:stream';
import type { Progress } from '@modelcontextprotocol/client';
import type { CallToolOptions, Upstream } from '../contract/upstream.js';
import { isFrom } from '../contract/log-level.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { messageEvent } from '../messages/sse-parts.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';

interface Request {
  readonly method: string;
  readonly params?: Record<string, unknown> & { _meta?: { progressToken?: string | number } };
}

/**
 * Answers a caller's message through the MCP client of an upstream that cannot receive its bytes: a process, or a
 * server that supports only the modern era. One-way messages of callers without a session are dropped.
 */
export async function answerThroughClient(
  upstream: Upstream,
  message: OutgoingMessage,
  options: ExchangeOptions,
): Promise<UpstreamAnswer> {
  if (message.id === undefined) return { status: 202, contentType: undefined, headers: {}, body: Buffer.alloc(0) };
  // The proxy has validated the body, which has this shape.
  const request = JSON.parse(message.body.toString('utf8')) as Request;
  const progressToken = request.params?._meta?.progressToken;
  const { receiver, logLevel } = options;
  // The client can be asked before the call has ended.
  if (progressToken === undefined && receiver === undefined && logLevel === undefined) {
    const text = await answerText(upstream, request, message, options);
    return { status: 200, contentType: 'application/json', headers: {}, body: Buffer.from(text) };
  }
  // The answer begins at once. An upstream that cannot be reached is a failure before that.
  if (receiver !== undefined) await upstream.serverDescription(options.signal);
  const body = new PassThrough();
  // Without a listener, an error before the first read would end this process.
  body.on('error', () => undefined);
  const notify = (method: string, params: object): void => {
    // A caller who does not read loses notifications, instead of getting all of them at the end.
    if (body.destroyed || body.writableEnded || body.writableNeedDrain) return;
    body.write(messageEvent(JSON.stringify({ jsonrpc: '2.0', method, params })));
  };
  const listeners = {
    ...(progressToken !== undefined && {
      onProgress: (progress: Progress) => notify('notifications/progress', { ...progress, progressToken }),
    }),
    ...(logLevel !== undefined && {
      log: {
        level: logLevel,
        take: (params: { level?: unknown }) => {
          if (isFrom(logLevel, params.level)) notify('notifications/message', params);
        },
      },
    }),
  };
  answerText(upstream, request, message, options, listeners).then(
    (text) => body.end(messageEvent(text)),
    (error: Error) => body.destroy(error),
  );
  const canAsk = options.answeringClient !== undefined;
  return { status: 200, contentType: 'text/event-stream', headers: {}, canAsk, body };
}

async function answerText(
  upstream: Upstream,
  { method, params }: Request,
  { id, asTask }: OutgoingMessage,
  { signal, headers, caller, receiver, answeringClient, room }: ExchangeOptions,
  listeners: Pick<CallToolOptions, 'onProgress' | 'log'> = {},
): Promise<string> {
  const requestId = headers?.['x-request-id'];
  const options = { signal, caller, requestId, asTask, receiver, answeringClient, room, ...listeners };
  try {
    const result = await resultOf(upstream, method, params ?? {}, options);
    return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.rpc === undefined) throw error;
    return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error.rpc)}}`;
  }
}

async function resultOf(
  upstream: Upstream,
  method: string,
  { _meta, ...params }: NonNullable<Request['params']>,
  options: CallToolOptions & { signal: AbortSignal },
): Promise<object> {
  if (method === 'ping') return {};
  if (method === 'tools/list') return { tools: await upstream.listTools(options) };
  if (method !== 'tools/call') return upstream.request(method, params, options);
  // The proxy has validated both.
  const { name, arguments: args = {} } = params as { name: string; arguments?: Record<string, unknown> };
  return upstream.callTool(name, args, options);
}
