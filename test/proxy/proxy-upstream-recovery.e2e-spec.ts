import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type ProxiedUpstream, RESULT, startProxiedUpstream, TOOLS } from '../support/proxied-upstream.js';
import { callProxy, pathOf, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { connectTo } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream;
let app: Tenant;
let upstream: ScriptedServer;

beforeAll(async () => {
  proxied = await startProxiedUpstream(newTenant);
  ({ app, upstream } = proxied);
});
afterAll(() => proxied?.close());

describe('an upstream that no longer knows the session', () => {
  it('is initialized again once, and the call is repeated once, for a caller without a session', async () => {
    const path = await proxied.connected();
    expect((await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') })).status).toBe(200);
    proxied.forget();
    const before = upstream.requests.length;
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine', {}, 'again') });
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 'again', result: RESULT });
    const methods = upstream.requests.slice(before).map(({ message }) => message.method);
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(2);
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(1);
  });

  it('is not called endlessly when it drops every session at once', async () => {
    const forgetful = legacyServer((_request, response) => void response.writeHead(404).end());
    const upstreamOfIt = await startScripted((request, response) => {
      if (request.message.method === 'tools/list') return sendResult(response, request.message, { tools: TOOLS });
      return forgetful.script(request, response);
    });
    const path = pathOf(app, await connectTo(app, upstreamOfIt.url));
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(upstreamOfIt.calls('tools/call')).toHaveLength(2);
    await upstreamOfIt.close();
  });

  it('makes the caller get `session_not_found` for its session', async () => {
    const path = await proxied.connected();
    const headers = await proxied.openSession(path);
    expect((await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') })).status).toBe(200);
    proxied.forget();
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') });
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 404,
      code: 'session_not_found',
    });
  });
});

describe('a connection', () => {
  const statusOf = async (id: string): Promise<string> =>
    (await app.tool('COLLECTION_CONNECTIONS_GET', { id })).body.item.status as string;

  it('that is inactive is unavailable, and its upstream is not called', async () => {
    const path = await proxied.connected({ status: 'inactive' });
    const before = upstream.requests.length;
    for (const body of [toolCall('fine'), rpc('tools/list'), rpc('ping')]) {
      const answer = await callProxy(app, path, { key: app.apiKey, body });
      expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
        status: 503,
        code: 'connection_unavailable',
      });
    }
    expect(upstream.requests).toHaveLength(before);
  });

  it('whose upstream keeps failing is blocked with `Retry-After`, and recovers without intervention', async () => {
    const state = { isDown: false };
    const { script } = legacyServer(({ message }, response) => {
      const isList = message.method === 'tools/list';
      sendResult(response, message, isList ? { tools: TOOLS } : RESULT);
    });
    const moody = await startScripted((request, response) => {
      if (state.isDown) return void response.writeHead(503).end();
      return script(request, response);
    });
    const connectionId = await connectTo(app, moody.url);
    const call = () => callProxy(app, pathOf(app, connectionId), { key: app.apiKey, body: toolCall('fine') });
    expect((await call()).status).toBe(200);

    state.isDown = true;
    for (let i = 0; i < 5; i++) expect(rpcOf(await call()).error?.data.code).toBe('upstream_unreachable');
    // Meanwhile the service itself may try whether the upstream works again.
    const asked = moody.calls('tools/call').length;
    const refusal = await call();
    expect({ status: refusal.status, code: rpcOf(refusal).error?.data.code }).toEqual({
      status: 503,
      code: 'connection_unavailable',
    });
    expect(Number(refusal.headers['retry-after'])).toBeGreaterThan(0);
    expect(moody.calls('tools/call')).toHaveLength(asked);
    await eventually(async () => expect(await statusOf(connectionId)).toBe('error'));

    state.isDown = false;
    await eventually(async () => expect((await call()).status).toBe(200));
    await eventually(async () => expect(await statusOf(connectionId)).toBe('active'));
    await moody.close();
  }, 60_000);
});
