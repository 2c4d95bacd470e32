import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as openRequest } from 'node:http';
import type { Tenant } from './tenant.js';

/** What the proxy answered, byte for byte. */
export interface ProxyAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface ProxyRequest {
  method?: string;
  /** Sent as `Authorization: Bearer …`. */
  key?: string | undefined;
  headers?: Record<string, string>;
  /** A string or bytes go as they are, anything else as JSON. */
  body?: unknown;
}

/** A JSON-RPC error as every door of the proxy answers it. */
export interface RpcError {
  code: number;
  message: string;
  data: { code: string; request_id: string; errors?: object[] };
}

/** One JSON-RPC answer as a caller reads it. */
export interface RpcAnswer {
  jsonrpc: string;
  id: string | number | null;
  result?: Record<string, unknown> & { content?: { type: string; text: string }[]; tools?: { name: string }[] };
  error?: RpcError;
}

/** The headers of a caller that takes one JSON body. */
export const TAKES_JSON = {};
/** The headers of a caller that takes a stream too. */
export const TAKES_STREAMS = { accept: 'application/json, text/event-stream' };

/** Sends a request as it is written here: no header is added but `content-type`, and `Host` can be set. */
export async function openProxy(app: Tenant, path: string, wanted: ProxyRequest): Promise<IncomingMessage> {
  const { method = 'POST', key, headers = {}, body } = wanted;
  const { hostname, port } = new URL(app.url);
  const request = openRequest({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    path,
    method,
    agent: false,
    headers: {
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
  request.end(bytesOf(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** The whole answer; rejects when it breaks off. */
export async function callProxy(app: Tenant, path: string, wanted: ProxyRequest): Promise<ProxyAnswer> {
  const response = await openProxy(app, path, wanted);
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** The one message of a JSON body. */
export function rpcOf({ text }: Pick<ProxyAnswer, 'text'>): RpcAnswer {
  return JSON.parse(text) as RpcAnswer;
}

/** The messages of an event stream. */
export function eventsOf({ text }: Pick<ProxyAnswer, 'text'>): RpcAnswer[] {
  return text
    .split(/\r?\n\r?\n/)
    .flatMap((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')))
    .map((line) => JSON.parse(line.slice('data:'.length)) as RpcAnswer);
}

/** The error of an answer, whichever form the answer has; undefined when it has none. */
export function errorIn({ text, headers }: ProxyAnswer): RpcError | undefined {
  if (headers['content-type']?.startsWith('text/event-stream') !== true) return rpcOf({ text }).error;
  const events = text.split('\n\n').filter((event) => event.includes('data:'));
  return rpcOf({ text: (events.at(-1) ?? '').replace(/^(event:.*\n)?data:/, '') }).error;
}

export const rpc = (method: string, params?: object, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params !== undefined && { params }),
});

export const toolCall = (name: string, args: object = {}, id: string | number = 1): object =>
  rpc('tools/call', { name, arguments: args }, id);

/** The org-scoped path of a connection. */
export const pathOf = ({ org }: Pick<Tenant, 'org'>, connectionId: string): string => `/api/${org}/mcp/${connectionId}`;

function bytesOf(body: unknown): string | Buffer | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
}
