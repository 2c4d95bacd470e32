import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { rpc, toolCall } from '../support/proxy-calls.js';

/** What the requests refer to. */
export interface World {
  readonly url: string;
  readonly apiKey: string;
  readonly agentId: string;
  readonly connectionId: string;
  /** A session with the connection's endpoint. */
  readonly sessionId: string;
  /** A thread with an answer. */
  readonly threadId: string;
  /** The run of that answer, and the id of one of its frames. */
  readonly taskId: string;
  readonly frameId: string;
  /** An access token for the connection's endpoint. */
  readonly token: string;
  /** The cookies of a signed-in browser. */
  readonly cookie: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of a response that is no stream. */
  readonly text: string;
  readonly ms: number;
}

/** A kind of request. */
export interface RequestKind {
  readonly name: string;
  /** Whether no store is needed for the answer. */
  readonly isStatic: boolean;
  send(): Promise<Answer>;
}

interface Message {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const clientInfo = { name: 'test', version: '1' };
/** Opens a session with an MCP endpoint. */
export const OPENING = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
export const MCP = { accept: 'application/json, text/event-stream' };
const STREAM = { accept: 'text/event-stream' };
const GIVE_UP_MS = 60_000;
/** Idle connections are closed soon, so that those of the service itself can be counted. */
const connections = new Agent({ connections: 512, keepAliveTimeout: 1_000, keepAliveMaxTimeout: 1_000 });

/** Sends a request; of a stream, only the head is read. */
export async function send(url: string, { method = 'GET', body, headers = {} }: Message = {}): Promise<Answer> {
  const begun = performance.now();
  const isText = typeof body === 'string';
  const response = await request(url, {
    dispatcher: connections,
    method,
    body: body === undefined ? null : isText ? body : JSON.stringify(body),
    headers: {
      ...(body !== undefined && { 'content-type': isText ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...headers,
    },
    headersTimeout: GIVE_UP_MS,
    bodyTimeout: GIVE_UP_MS,
  });
  const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
  // That of a message waits for the runs before its own.
  const isEndless = isStream && (method === 'GET' || headers['accept'] === STREAM.accept);
  if (isEndless) response.body.on('error', () => undefined).destroy();
  const text = isEndless ? '' : await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, ms: performance.now() - begun };
}

/** Requests of every kind that the service answers. */
export function requestKinds(world: World): RequestKind[] {
  const { url, apiKey, agentId, connectionId, sessionId, threadId, taskId, frameId, token } = world;
  const api = `${url}/api/default`;
  const thread = `${api}/agent-runtime/threads/${threadId}`;
  const authorization = `Bearer ${apiKey}`;
  const messages = [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }];
  const run = { messages, agent: { id: agentId } };
  const kinds: RequestKind[] = [];
  const add = (name: string, target: string, message: Message = {}, isStatic = false): void => {
    kinds.push({ name, isStatic, send: () => send(target, message) });
  };
  const get = (name: string, target: string, headers = {}): void =>
    add(name, target, { headers: { authorization, ...headers } });
  const post = (name: string, target: string, body: object, headers = {}): void =>
    add(name, target, { method: 'POST', body, headers: { authorization, ...headers } });
  const tool = (name: string, input: object): void => post(name, `${api}/tools/${name}`, input);

  get('list of tools', `${api}/tools`);
  tool('API_KEY_LIST', {});
  tool('API_KEY_CREATE', { name: 'stored', permissions: {} });
  tool('COLLECTION_CONNECTIONS_LIST', {});
  tool('COLLECTION_THREADS_LIST', {});
  tool('COLLECTION_THREADS_CREATE', { data: { title: 'Stored', virtual_mcp_id: agentId } });
  tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
  tool('RUN_GET', { id: taskId });
  tool('RUN_LIST', {});
  tool('RUN_CANCEL', { id: taskId });
  tool('USAGE_STATS', { by: 'agent' });
  tool('THREAD_STATS', { where: { field: ['text'], operator: 'matches', value: 'stored' } });
  tool('MONITORING_LOGS_LIST', {});
  tool('AUDIT_EVENTS_LIST', {});
  tool('THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: ['read'] });

  post('a message', `${thread}/messages`, run);
  post('a message that waits', `${thread}/messages`, run, { prefer: 'wait=1' });
  post('a message with its stream', `${thread}/messages`, run, STREAM);
  post('a cancellation', `${thread}/cancel`, { taskId });
  post('an approval', `${thread}/approvals/${randomUUID()}`, { approved: true });
  get('a run', `${api}/agent-runtime/runs/${taskId}`);
  get('a run that is waited for', `${api}/agent-runtime/runs/${taskId}?wait=1`);
  get('a stream', `${thread}/stream`, STREAM);
  get('the stream of a run', `${thread}/stream?taskId=${taskId}`, STREAM);
  get('a stream that goes on', `${thread}/stream`, { ...STREAM, 'last-event-id': frameId });
  get('a stream if there is a run', `${thread}/stream?idle=204`, STREAM);

  const direct = `${api}/mcp/${connectionId}`;
  const gateway = `${api}/mcp/gateway/${agentId}`;
  const session = { ...MCP, 'mcp-session-id': sessionId };
  for (const [name, target] of [
    ['direct', direct],
    ['gateway', gateway],
  ] as const) {
    post(`${name}: initialize`, target, OPENING, MCP);
    post(`${name}: list`, target, rpc('tools/list'), MCP);
    post(`${name}: call`, target, toolCall('echo', { text: 'x' }), MCP);
  }
  post('self: initialize', `${api}/mcp/self`, OPENING, MCP);
  post('self: list', `${api}/mcp/self`, rpc('tools/list'), MCP);
  post('self: call', `${api}/mcp/self`, toolCall('API_KEY_LIST'), MCP);
  post('session: call', direct, toolCall('echo', { text: 'x' }), session);
  get('session: stream', direct, { ...session, ...STREAM });
  post('call-tool', `${direct}/call-tool/echo`, { text: 'x' });
  post('legacy: call', `${url}/mcp/${connectionId}`, toolCall('echo', { text: 'x' }), MCP);

  get('events', `${api}/events`, STREAM);
  post('an export', `${api}/monitoring/export`, { records: 'calls', format: 'jsonl' });

  const withToken = { ...MCP, authorization: `Bearer ${token}` };
  add('OAuth token: call', direct, { method: 'POST', body: toolCall('echo', { text: 'x' }), headers: withToken });
  const refreshing = new URLSearchParams({ grant_type: 'refresh_token', client_id: randomUUID(), refresh_token: 'x' });
  add('OAuth: token', `${url}/oauth/token`, { method: 'POST', body: refreshing.toString() });
  const client = {
    client_name: 'Test',
    redirect_uris: ['http://127.0.0.1:1/back'],
    token_endpoint_auth_method: 'none',
  };
  add('OAuth: register', `${url}/oauth/register`, { method: 'POST', body: client });
  add('OAuth: authorize', `${url}/oauth/authorize?client_id=${randomUUID()}&response_type=code`);
  add('OAuth: keys', `${url}/oauth/jwks`);
  add('OAuth: metadata', `${url}/.well-known/oauth-authorization-server`);
  add('OAuth: resource', `${url}/.well-known/oauth-protected-resource/api/default/mcp/${connectionId}`);

  const { cookie } = world;
  add('sign-in: page', `${url}/sign-in`, { headers: { cookie } });
  add('browser: session', `${url}/console/session`, { headers: { cookie } });
  add('browser: account', `${url}/password`, { headers: { cookie } });
  add('unknown key', `${api}/tools`, { headers: { authorization: `Bearer ${generateApiKey()}` } });
  add('no credential', `${api}/tools`, {}, true);

  add('health: live', `${url}/health/live`, {}, true);
  add('health: ready', `${url}/health/ready`);
  add('start page', url, {}, true);
  add('console', `${url}/console`, {}, true);
  add('docs', `${url}/docs`, {}, true);
  add('OpenAPI', `${url}/openapi.json`, {}, true);
  return kinds;
}
