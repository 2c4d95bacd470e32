import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { callProxy, openProxy, pathOf, type ProxyAnswer, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { useTenantOfTwo } from '../support/use-started.js';

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

let everything: EverythingServer;
/** Two processes of one service. */
const [app, other] = useTenantOfTwo();
let connectionId: string;

beforeAll(async () => {
  everything = await startEverything();
  connectionId = await connectTo(app, everything.url);
});
afterAll(async () => {
  await everything?.close();
});

async function open(key = app.apiKey, id = connectionId): Promise<Record<string, string>> {
  const answer = await callProxy(app, pathOf(app, id), { key, body: rpc('initialize', INITIALIZE) });
  expect(answer.status).toBe(200);
  const session = String(answer.headers['mcp-session-id']);
  expect(session).toMatch(/^[\x21-\x7e]{40,2048}$/);
  return { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
}

const echo = (headers: Record<string, string>, key = app.apiKey, id = connectionId, at = app): Promise<ProxyAnswer> =>
  callProxy(at, pathOf(app, id), { key, headers, body: toolCall('echo', { message: 'hi' }) });

function expectUnknown(answer: ProxyAnswer): void {
  expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
    status: 404,
    code: 'session_not_found',
  });
}

describe('a session', () => {
  it('is accepted by any process, for its own principal and connection', async () => {
    const session = await open();
    for (const at of [app, other])
      expect((await echo(session, app.apiKey, connectionId, at)).text).toContain('Echo: hi');
  });

  it('is not accepted from another key, for another connection, or after a modification', async () => {
    const session = await open();
    const key = await keyWith(app, { '*': ['*'] });
    expectUnknown(await echo(session, key));
    expectUnknown(await echo(session, app.apiKey, await connectTo(app, everything.url)));
    const id = session['mcp-session-id'] ?? '';
    for (const forged of [
      `${id}A`,
      id.slice(0, -2),
      id.replace(/.$/, id.endsWith('A') ? 'B' : 'A'),
      'x',
      'v1.a.b.c.d',
    ]) {
      expectUnknown(await echo({ ...session, 'mcp-session-id': forged }));
    }
    expectUnknown(await echo({ ...session, 'mcp-session-id': 'x'.repeat(10_000) }));
    expect((await echo(session)).status).toBe(200);
  });

  it('ends with an edit of the connection, which can change its credentials', async () => {
    const id = await connectTo(app, everything.url);
    const session = await open(app.apiKey, id);
    await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { connection_token: 'new' } }).expect(200);
    expectUnknown(await echo(session, app.apiKey, id));
  });

  it('ends with DELETE', async () => {
    const session = await open();
    const ended = await callProxy(app, pathOf(app, connectionId), {
      method: 'DELETE',
      key: app.apiKey,
      headers: session,
    });
    expect(ended.status).toBe(200);
    expectUnknown(await echo(session));
  });

  it('reports an upstream that did not end it', async () => {
    const headers = { ...(await open()), 'mcp-protocol-version': '1999-01-01' };
    const ended = await callProxy(app, pathOf(app, connectionId), { method: 'DELETE', key: app.apiKey, headers });
    expect(ended.status).toBe(400);
    expect(rpcOf(ended).error).toMatchObject({ code: -32603, data: { code: 'upstream_protocol' } });
  });

  it('has its own stream, which ends when the key is deleted', async () => {
    const { body } = await app.tool('API_KEY_CREATE', { name: 'short', permissions: { '*': ['*'] } }).expect(200);
    const session = await open(body.key);
    const stream = await openProxy(app, pathOf(app, connectionId), {
      method: 'GET',
      key: body.key,
      headers: { ...session, accept: 'text/event-stream' },
    });
    expect(stream.statusCode).toBe(200);
    expect(stream.headers['content-type']).toContain('text/event-stream');
    stream.resume();
    stream.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
    await app.tool('API_KEY_DELETE', { id: body.id }).expect(200);
    await closed;
    expect((await echo(session, body.key)).status).toBe(401);
  });

  it('is required for GET, DELETE, and methods that would change the session of others', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await callProxy(app, pathOf(app, connectionId), { method, key: app.apiKey })).status).toBe(405);
    }
    const level = rpc('logging/setLevel', { level: 'debug' });
    const refused = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, body: level });
    expect(rpcOf(refused).error).toMatchObject({ code: -32600, data: { code: 'invalid_rpc_request' } });
  });
});

describe('an upstream that fails and recovers', () => {
  it('gives callers clear errors, opens the breaker, and is used again without intervention', async () => {
    const server = await startEverything();
    const id = await connectTo(app, server.url);
    const session = await open(app.apiKey, id);
    expect((await echo({}, app.apiKey, id)).status).toBe(200);
    await server.close();

    const first = await echo({}, app.apiKey, id);
    expect({ status: first.status, error: rpcOf(first).error }).toMatchObject({
      status: 503,
      error: { code: -32000, data: { code: 'upstream_unreachable' } },
    });
    let refused: ProxyAnswer | undefined;
    await eventually(async () => {
      refused = await echo({}, app.apiKey, id);
      expect(rpcOf(refused).error?.data.code).toBe('connection_unavailable');
    });
    expect(refused?.status).toBe(503);
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    await eventually(async () => expect(await statusOf(id)).toBe('error'));

    const { port } = new URL(server.url);
    const back = await startEverything(Number(port));
    await eventually(async () => expect((await echo({}, app.apiKey, id)).status).toBe(200));
    await eventually(async () => expect(await statusOf(id)).toBe('active'));
    // The new server does not know the old session.
    expectUnknown(await echo(session, app.apiKey, id));
    await back.close();
  });
});

async function statusOf(id: string): Promise<string> {
  const { body } = await app.tool('COLLECTION_CONNECTIONS_GET', { id }).expect(200);
  return body.item.status;
}
