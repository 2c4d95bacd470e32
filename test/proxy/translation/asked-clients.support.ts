import { beforeAll, expect } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type ElicitResult,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '../../support/eventually.js';
import { useFixtureServers } from '../../support/fixture-servers.js';
import {
  callProxy,
  eventsOf,
  openProxy,
  type ProxyAnswer,
  rpc,
  type RpcAnswer,
  TAKES_STREAMS,
  toolCall,
} from '../../support/proxy-calls.js';
import type { Tenant } from '../../support/tenant.js';

const PARAMS = { protocolVersion: '2025-11-25', clientInfo: { name: 'raw', version: '1' } };

export const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const ACCEPTED = { action: 'accept' as const, content: { name: 'Ada' } };

export const SAID = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'It' } };
export const ROOTS = { roots: [{ uri: 'file:///a' }] };

/** A request of this service to its client. */
export interface ClientRequest {
  id: string;
  method: string;
  params: Record<string, unknown>;
}

/** Starts a server of the modern era that asks its clients. */
export function useModernAsking() {
  const { argsOf, countIn, serve } = useFixtureServers('modern-asking-server');
  let url: string;
  beforeAll(async () => {
    ({ url } = await serve('server'));
  });
  return {
    get url() {
      return url;
    },
    /** Of the same server as a program. */
    get programArgs() {
      return argsOf('program');
    },
    /** How many requests for a tool have reached the server or the program. */
    requests: (upstream: 'server' | 'program', tool: string): number => countIn(upstream, tool),
  };
}

/** Opens a session of the legacy era. Returns the headers of its requests. */
export async function openSession(
  app: Tenant,
  path: string,
  { key = app.apiKey, capabilities = ALL as object } = {},
): Promise<Record<string, string>> {
  const answer = await callProxy(app, path, { key, body: rpc('initialize', { ...PARAMS, capabilities }) });
  expect(answer.status).toBe(200);
  return { 'mcp-session-id': String(answer.headers['mcp-session-id']), ...TAKES_STREAMS };
}

/** What a client answers to a form or a page. */
type Elicited = ElicitResult | Promise<ElicitResult>;

/** A client of the SDK for the legacy era, and what it was asked. */
export async function openClient(
  app: Tenant,
  path: string,
  { capabilities = ALL as object, elicit = (): Elicited => ACCEPTED, key = app.apiKey } = {},
): Promise<{ client: Client; asked: object[] }> {
  const asked: object[] = [];
  const client = new Client({ name: 'legacy', version: '1' }, { capabilities });
  if ('elicitation' in capabilities) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      return elicit();
    });
  }
  if ('sampling' in capabilities) {
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
      asked.push(params);
      return SAID;
    });
  }
  if ('roots' in capabilities) client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, app.url), { requestInit }));
  return { client, asked };
}

/** The text of a tool's result. */
export async function textOf(client: Client, name: string, onprogress?: () => void): Promise<unknown> {
  const { content } = await client.callTool({ name }, undefined, onprogress && { onprogress });
  return JSON.parse((content as { text: string }[])[0]?.text ?? '');
}

/** A call that has asked its client. */
export interface AskedCall {
  readonly asked: ClientRequest;
  /** The messages after the request; rejects if the stream breaks off. */
  readonly rest: Promise<RpcAnswer[]>;
  /** Hangs up. */
  readonly leave: () => void;
}

/** Calls a tool in a session, and waits until it has asked. */
export async function callAsking(
  app: Tenant,
  path: string,
  headers: Record<string, string>,
  { key = app.apiKey, tool = 'ask', args = {} } = {},
): Promise<AskedCall> {
  const stream = await openProxy(app, path, { key, headers, body: toolCall(tool, args) });
  let text = '';
  const reading = (async () => {
    for await (const chunk of stream) text += String(chunk);
    return eventsOf({ text }).slice(1);
  })();
  // A test that hangs up does not read the rest.
  reading.catch(() => undefined);
  const asked = await eventually(() => text.endsWith('\n\n') && (eventsOf({ text })[0] ?? false));
  return { asked: asked as unknown as ClientRequest, rest: reading, leave: () => void stream.destroy() };
}

/** Answers a request of the service in a session. */
export function answerWith(
  app: Tenant,
  path: string,
  headers: Record<string, string>,
  answer: { id: unknown; result?: unknown; error?: unknown },
  key = app.apiKey,
): Promise<ProxyAnswer> {
  return callProxy(app, path, { key, headers, body: { jsonrpc: '2.0', ...answer } });
}

/** The text of the result that ends a call. */
export function resultIn(messages: readonly RpcAnswer[]): unknown {
  return JSON.parse(String(messages.at(-1)?.result?.content?.[0]?.text));
}
