import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { startEraServer } from '../support/era-server.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import {
  callProxy,
  openProxy,
  pathOf,
  type ProxyRequest,
  rpc,
  TAKES_JSON,
  TAKES_STREAMS,
  toolCall,
} from '../support/proxy-calls.js';
import { connectTo } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import {
  flood,
  JSON_TYPE,
  legacyServer,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

/** The number of concurrent calls, each of which needs a connection. */
const AT_ONCE = 8;

let app: Tenant;
beforeAll(async () => {
  app = await newTenant();
});
afterAll(() => app.close());

/** Makes the given number of calls, several concurrently. Returns how many connections the upstream saw. */
async function connectionsFor(
  upstream: Pick<ScriptedServer, 'connections'>,
  call: () => Promise<unknown>,
  times: number,
): Promise<number> {
  await call();
  const before = upstream.connections();
  let left = times;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  return upstream.connections() - before;
}

async function expectOk(path: string, wanted: ProxyRequest): Promise<void> {
  const answer = await callProxy(app, path, { key: app.apiKey, ...wanted });
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: answer.text });
}

async function openSession(path: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const headers = TAKES_STREAMS;
  const opened = await callProxy(app, path, { key: app.apiKey, headers, body: rpc('initialize', params) });
  const session = { ...headers, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await callProxy(app, path, {
    key: app.apiKey,
    headers: session,
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
  });
  return session;
}

describe('connections to a server on the official SDK are reused', () => {
  let server: EverythingServer;
  let proxy: TcpProxy;
  let path: string;
  let agentPath: string;

  beforeAll(async () => {
    server = await startEverything();
    proxy = await startTcpProxy(server.url);
    const id = await connectTo(app, `http://127.0.0.1:${proxy.port}/mcp`);
    path = pathOf(app, id);
    agentPath = gatewayPath(app, await agentOf(app, [id]));
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });

  const echo = toolCall('echo', { message: 'a' });

  it.each([
    ['a caller that accepts streams', 120, () => ({ path, headers: TAKES_STREAMS, body: echo })],
    ['a caller that accepts one JSON body', 120, () => ({ path, headers: TAKES_JSON, body: echo })],
    ['a list', 120, () => ({ path, headers: TAKES_STREAMS, body: rpc('tools/list') })],
    ['an agent', 120, () => ({ path: agentPath, headers: TAKES_STREAMS, body: echo })],
    [
      'call-tool',
      120,
      () => ({ path: `${path.replace(`/api/${app.org}`, '')}/call-tool/echo`, headers: {}, body: { message: 'a' } }),
    ],
  ])('for %s', async (_who, calls, call) => {
    const { path: at, ...wanted } = call();
    expect(await connectionsFor(proxy, () => expectOk(at, wanted), calls)).toBeLessThan(calls / 5);
  });

  it('for a session of a caller', async () => {
    const headers = await openSession(path);
    let id = 0;
    const call = (): Promise<void> =>
      expectOk(path, { headers, body: toolCall('echo', { message: 'a' }, `call-${id++}`) });
    expect(await connectionsFor(proxy, call, 120)).toBeLessThan(24);
  });
});

describe('connections to a server of the modern era are reused', () => {
  it('for callers of the other era, whose calls are translated', async () => {
    const upstream = await startEraServer();
    const path = pathOf(app, await connectTo(app, upstream.url));
    const connections = await connectionsFor(
      upstream,
      () => expectOk(path, { headers: TAKES_STREAMS, body: toolCall('echo', { message: 'a' }) }),
      120,
    );
    expect(connections).toBeLessThan(24);
    await upstream.close();
  });
});

describe('an upstream of the legacy era', () => {
  let upstream: ScriptedServer;
  let path: string;
  let answer: Parameters<typeof legacyServer>[0];

  beforeAll(async () => {
    const { script } = legacyServer((request, response) =>
      request.message.method === 'tools/list'
        ? sendResult(response, request.message, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
        : answer(request, response),
    );
    upstream = await startScripted(script);
    path = pathOf(app, await connectTo(app, upstream.url));
  });
  afterAll(() => upstream.close());

  const call = (headers: Record<string, string> = TAKES_STREAMS): Promise<void> =>
    expectOk(path, { headers, body: toolCall('echo') });
  const answerOf = (id: unknown): string =>
    `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`;

  it.each([
    ['a stream', TAKES_STREAMS],
    ['one JSON body', TAKES_JSON],
  ])('can end its stream a while after the answer to a caller that accepts %s', async (_what, headers) => {
    let end = (): void => undefined;
    answer = ({ message }, response) => {
      response.writeHead(200, SSE_TYPE).write(answerOf(message.id));
      end = () => void response.end(': that is all\n\n');
    };
    await call(headers);
    end();
    const before = upstream.connections();
    for (let i = 0; i < 20; i++) {
      await call(headers);
      end();
      expect(await upstream.calls('tools/call').at(-1)?.hungUp).toBe(false);
    }
    expect(upstream.connections() - before).toBeLessThan(4);
  });

  it('gets the cancellation of a call, and keeps the connection if it then ends the answer', async () => {
    const open = new Map<unknown, () => void>();
    answer = ({ message }, response) => {
      response.writeHead(200, SSE_TYPE).write(': begun\n\n');
      open.set(message.id, () => response.end());
    };
    const cancelled = (): number => upstream.calls('notifications/cancelled').length;
    const cancelOne = async (): Promise<void> => {
      const seen = upstream.calls('tools/call').length;
      const response = await openProxy(app, path, { key: app.apiKey, headers: TAKES_STREAMS, body: toolCall('echo') });
      await eventually(() => expect(upstream.calls('tools/call').length).toBeGreaterThan(seen));
      const before = cancelled();
      response.destroy();
      await eventually(() => expect(cancelled()).toBeGreaterThan(before));
      const { params } = upstream.calls('notifications/cancelled').at(-1)?.message ?? {};
      open.get(params?.['requestId'])?.();
    };
    await cancelOne();
    const before = upstream.connections();
    for (let i = 0; i < 30; i++) await cancelOne();
    expect(upstream.connections() - before).toBeLessThan(10);
  });

  it('can send a longer error body than the service reads', async () => {
    answer = (_request, response) => void response.writeHead(400, JSON_TYPE).end('x'.repeat(200 * 1024));
    const failing = async (): Promise<void> => {
      const { status } = await callProxy(app, path, {
        key: app.apiKey,
        headers: TAKES_STREAMS,
        body: toolCall('echo'),
      });
      expect(status).toBe(500);
    };
    expect(await connectionsFor(upstream, failing, 120)).toBeLessThan(30);
  });

  it.each([
    ['never ends its stream', () => undefined],
    ['sends endlessly', (response: Parameters<typeof flood>[0]) => flood(response, SSE_TYPE, ': more\n\n')],
  ])('that %s loses its connection', async (_what, goOn) => {
    answer = ({ message }, response) => {
      response.writeHead(200, SSE_TYPE).write(answerOf(message.id));
      response.writeHead = () => response;
      goOn(response);
    };
    await call();
    expect(await upstream.calls('tools/call').at(-1)?.hungUp).toBe(true);
  });

  it('gets no call twice when it closes a connection that was to be reused', async () => {
    answer = ({ message }, response) => sendResult(response, message, { content: [] });
    await call();
    answer = (_request, response) => void response.destroy();
    const seen = upstream.calls('tools/call').length;
    const failed = await callProxy(app, path, { key: app.apiKey, headers: TAKES_STREAMS, body: toolCall('echo') });
    expect(failed.status).toBe(503);
    expect(upstream.calls('tools/call')).toHaveLength(seen + 1);
  });
});
