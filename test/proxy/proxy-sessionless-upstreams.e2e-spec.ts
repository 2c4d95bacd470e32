import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newTenant } from '../support/tenant.js';
import { callProxy, openProxy, pathOf, type ProxyAnswer, rpc, rpcOf, TAKES_STREAMS } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { useStarted } from '../support/use-started.js';

const TOOLS = ['slow', 'open'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const INITIALIZE = { protocolVersion: '2025-11-25', clientInfo: { name: 'test', version: '1' }, capabilities: {} };

const app = useStarted(newTenant);
let upstream: ScriptedServer;
let path: string;
/** The pending calls of `slow`. */
let waiting: ServerResponse[];

/** A server without sessions that distinguishes the requests of its callers only by their ids. */
beforeEach(async () => {
  waiting = [];
  upstream = await startScripted(({ method, message }, response) => {
    if (method !== 'POST' || message.method === 'server/discover') return void response.writeHead(400).end();
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
    const serverInfo = { name: 'sessionless', version: '1' };
    const { tools } = message.params ?? {};
    const answers: Record<string, object> = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: TOOLS.filter(({ name }) => tools === undefined || name === tools) },
    };
    const answer = answers[message.method];
    if (message.params?.['name'] === 'slow') waiting.push(response);
    else sendResult(response, message, answer ?? { content: [{ type: 'text', text: 'done' }] });
    return undefined;
  });
  path = pathOf(app, await connectTo(app, upstream.url));
});
afterEach(() => upstream.close());

async function openSession(key: string): Promise<Record<string, string>> {
  const answer = await callProxy(app, path, { key, headers: TAKES_STREAMS, body: rpc('initialize', INITIALIZE) });
  expect(answer.status).toBe(200);
  return { ...TAKES_STREAMS, 'mcp-session-id': String(answer.headers['mcp-session-id']) };
}

function send(key: string, headers: Record<string, string>, body: object, method = 'POST'): Promise<ProxyAnswer> {
  return callProxy(app, path, {
    method,
    key,
    headers,
    ...(method === 'POST' && { body: { jsonrpc: '2.0', ...body } }),
  });
}

describe('an upstream without sessions', () => {
  it('does not get a DELETE from one caller that would end the work of all', async () => {
    const key = await keyWith(app, {});
    const headers = await openSession(key);
    expect((await send(key, headers, {}, 'DELETE')).status).toBe(200);
    expect(upstream.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(0);
  });

  it('does not get a cancellation from one caller for the request of another', async () => {
    const key = await keyWith(app, {});
    const headers = await openSession(key);
    const call = openProxy(app, path, {
      key: app.apiKey,
      headers: TAKES_STREAMS,
      body: rpc('tools/call', { name: 'slow' }),
    });
    call.catch(() => undefined);
    await eventually(() => expect(waiting).toHaveLength(1));
    const [{ message } = {}] = upstream.calls('tools/call');
    const cancel = { method: 'notifications/cancelled', params: { requestId: message?.id } };
    expect((await send(key, headers, cancel)).status).toBe(202);
    expect(upstream.calls('notifications/cancelled')).toHaveLength(0);
    for (const response of waiting) sendResult(response, message ?? {}, { content: [] });
    expect((await call).statusCode).toBe(200);
  });

  it('gets answers only from callers with a grant', async () => {
    const answer = { id: 0, result: { action: 'accept' } };
    const answers = () => upstream.requests.filter(({ message }) => 'result' in message).length;
    const key = await keyWith(app, {});
    expect((await send(key, await openSession(key), answer)).status).toBe(403);
    expect(answers()).toBe(0);
    expect((await send(app.apiKey, await openSession(app.apiKey), answer)).status).toBe(202);
    expect(answers()).toBe(1);
  });

  it('gets neither an answer nor a cancellation of the modern era, which has none', async () => {
    const headers = { ...TAKES_STREAMS, 'mcp-protocol-version': '2026-07-28' };
    const cancel = { method: 'notifications/cancelled', params: { requestId: 1 } };
    for (const key of [await keyWith(app, {}), app.apiKey]) {
      for (const body of [{ id: 0, result: { action: 'accept' } }, cancel]) {
        expect((await send(key, headers, body)).status).toBe(202);
      }
    }
    expect(upstream.requests.filter(({ message }) => 'result' in message)).toEqual([]);
    expect(upstream.calls('notifications/cancelled')).toEqual([]);
  });

  it('ends the call of a caller who cancels it', async () => {
    const headers = await openSession(app.apiKey);
    const call = callProxy(app, path, { key: app.apiKey, headers, body: rpc('tools/call', { name: 'slow' }) });
    await eventually(() => expect(waiting).toHaveLength(1));
    await send(app.apiKey, headers, { method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(await call).toMatchObject({ text: '' });
    expect(await upstream.calls('tools/call')[0]?.hungUp).toBe(true);
  });
});

it('a list that one caller requested with its own parameters is not used for all callers', async () => {
  const id = path.split('/').at(-1) ?? '';
  const key = await keyWith(app, { [id]: ['open'] });
  const call = (name: string) => send(app.apiKey, TAKES_STREAMS, rpc('tools/call', { name }));
  expect((await call('open')).text).toContain('done');
  const part = await send(key, {}, rpc('tools/list', { tools: 'slow' }));
  expect(rpcOf(part).result?.tools).toEqual([]);
  expect((await call('open')).text).toContain('done');
});
