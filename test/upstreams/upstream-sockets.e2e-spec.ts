import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import {
  callProxy,
  errorIn,
  openProxy,
  pathOf,
  type ProxyAnswer,
  rpc,
  rpcOf,
  TAKES_STREAMS,
  toolCall,
} from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import {
  legacyServer,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';

/** More than the sockets of one caller. */
const MANY = 140;
const TOOLS = [
  { name: 'hang', inputSchema: { type: 'object' } },
  { name: 'fine', inputSchema: { type: 'object' }, _meta: { 'mcp.service': { public_tool: true } } },
];

let app: Tenant;
let upstream: ScriptedServer;
let hanging: ServerResponse[] = [];
let opened: IncomingMessage[] = [];
let connectionId: string;
let path: string;

beforeAll(async () => {
  app = await newTenant();
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') sendResult(response, message, { tools: TOOLS });
    else if (message.params?.['name'] === 'hang') hanging.push(response);
    else sendResult(response, message, { content: [] });
  });
  upstream = await startScripted((request, response) => {
    if (request.method !== 'GET') return script(request, response);
    return void response.writeHead(200, SSE_TYPE).write(': listening\n\n');
  });
});

/** Created for each test, because the calls that are aborted at its end open the breaker. */
beforeEach(async () => {
  connectionId = await connectTo(app, upstream.url, { public_tools: 'honor' });
  path = pathOf(app, connectionId);
});

afterEach(() => {
  for (const response of hanging.splice(0)) response.destroy();
  for (const response of opened.splice(0)) response.destroy();
});

afterAll(async () => {
  await app.close();
  await upstream.close();
});

const call = (name: string, key: string | undefined, at = path): Promise<ProxyAnswer> =>
  callProxy(app, at, { key, headers: TAKES_STREAMS, body: toolCall(name) });

/** Makes hanging calls of a caller. Resolves when the upstream has as many as the caller gets sockets for. */
async function hang(key: string, at = path): Promise<Promise<ProxyAnswer | undefined>[]> {
  const calls = Array.from({ length: MANY }, () => call('hang', key, at).catch(() => undefined));
  await eventually(() => expect(hanging.length).toBeGreaterThanOrEqual(128));
  return calls;
}

async function expectAnswered(key: string | undefined, at = path): Promise<void> {
  const answer = await call('fine', key, at);
  expect({ status: answer.status, error: errorIn(answer) }).toEqual({ status: 200, error: undefined });
}

describe('calls that hang', () => {
  it('leave sockets to other keys, callers without a credential and other organizations', async () => {
    const [greedy, other] = [
      await keyWith(app, { [connectionId]: ['*'] }),
      await keyWith(app, { [connectionId]: ['*'] }),
    ];
    await expectAnswered(greedy);
    const second = await startSecondOrganization(app, 'second');
    const data = { title: 'Same origin', connection_type: 'HTTP', connection_url: upstream.url, public_tools: 'honor' };
    const made = await second.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    const elsewhere = pathOf({ org: second.slug }, (made.body as { item: { id: string } }).item.id);

    const calls = await hang(greedy);
    expect(hanging).toHaveLength(128);
    await expectAnswered(other);
    await expectAnswered(undefined);
    await expectAnswered(undefined, elsewhere);

    // Calls without a socket wait for a while and are then refused.
    const refused = (await Promise.race(calls)) as ProxyAnswer;
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(rpcOf(refused).error?.data.code).toBe('upstream_busy');
  });

  it('leave sockets to others through an agent too', async () => {
    const agent = await agentOf(app, [connectionId]);
    const greedy = await keyWith(app, { [agent]: ['*'] });
    await hang(greedy, gatewayPath(app, agent));
    await expectAnswered(await keyWith(app, { [agent]: ['*'] }), gatewayPath(app, agent));
    await expectAnswered(app.apiKey);
  });
});

describe('streams of unsolicited messages', () => {
  async function openSession(key: string | undefined): Promise<Record<string, string>> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const answer = await callProxy(app, path, { key, headers: TAKES_STREAMS, body: rpc('initialize', params) });
    return { accept: 'text/event-stream', 'mcp-session-id': String(answer.headers['mcp-session-id']) };
  }
  const listen = (key: string | undefined, headers: Record<string, string>): Promise<IncomingMessage> =>
    openProxy(app, path, { method: 'GET', key, headers });
  const streams = (): number => upstream.requests.filter(({ method }) => method === 'GET').length;

  it('need a grant on the connection', async () => {
    const before = streams();
    const empty = await keyWith(app, {});
    const refused = await listen(empty, await openSession(empty));
    const anonymous = await listen(undefined, await openSession(undefined));
    opened.push(refused, anonymous);
    expect([refused.statusCode, anonymous.statusCode]).toEqual([403, 401]);
    expect(streams()).toBe(before);
    const granted = await keyWith(app, { [connectionId]: ['fine'] });
    const allowed = await listen(granted, await openSession(granted));
    opened.push(allowed);
    expect(allowed.statusCode).toBe(200);
  });

  it('leave all sockets to calls, and some to other listeners', async () => {
    const [greedy, other] = [
      await keyWith(app, { [connectionId]: ['*'] }),
      await keyWith(app, { [connectionId]: ['*'] }),
    ];
    const session = await openSession(greedy);
    const answers = await Promise.all(Array.from({ length: MANY }, () => listen(greedy, session)));
    opened.push(...answers);
    const refused = answers.filter(({ statusCode }) => statusCode === 503);
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(128);
    expect(refused).toHaveLength(MANY - 128);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    await expectAnswered(greedy);
    await expectAnswered(other);
    const heard = await listen(other, await openSession(other));
    opened.push(heard);
    expect(heard.statusCode).toBe(200);
  });
});
