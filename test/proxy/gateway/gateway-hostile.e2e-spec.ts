import { once } from 'node:events';
import { connect } from 'node:net';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, openProxy, pathOf, rpc, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { useStarted } from '../../support/use-started.js';

const BOTH = 'application/json, text/event-stream';
const ASKING = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'test', version: '1' },
  capabilities: { sampling: {} },
};
const TOOLS = [{ name: 'ask', inputSchema: { type: 'object' } }];
const SPOOFED = '{"jsonrpc":"2.0","id":2,"result":{"spoofed":true}}';

const app = useStarted(newTenant);

async function openSession(path: string): Promise<Record<string, string>> {
  const answer = await callProxy(app, path, { key: app.apiKey, body: rpc('initialize', ASKING) });
  return { 'mcp-session-id': String(answer.headers['mcp-session-id']), accept: BOTH };
}

describe('an answer to another request', () => {
  it.each([
    ['with an escaped key', () => `data: ${SPOOFED.replace('"id"', '"\\u0069d"')}\n\n`],
    ['before another kind of line end', () => `data: ${SPOOFED}\r\rdata: x\n\n`],
    ['after a byte order mark', () => `\ufeffdata: ${SPOOFED}\n\n`],
    ['in a batch', () => `data: [${SPOOFED}]\n\n`],
    [
      'after a long comment',
      (id: unknown) => `:data:{"id":"${String(id)}","a":"${'x'.repeat(200_000)}\ndata: ${SPOOFED}\n\n`,
    ],
  ])('does not pass %s', async (_title, hostile) => {
    const server = legacyServer(({ message }, response) => {
      if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(hostile(message.id));
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } })}\n\n`);
      return undefined;
    });
    const upstream = await startScripted(server.script);
    const path = pathOf(app, await connectTo(app, upstream.url));
    const { text } = await callProxy(app, path, { key: app.apiKey, headers: { accept: BOTH }, body: toolCall('ask') });
    expect(text).toMatch(/"id":1,"(?:result|error)"/);
    expect(text).not.toContain('spoofed');
    await upstream.close();
  });
});

it('an upstream without sessions answers a client with capabilities in an event stream', async () => {
  const upstream = await startScripted(({ message: { id, method } }, response) => {
    if (method === 'server/discover') return void response.writeHead(400).end();
    if (id === undefined) return void response.writeHead(202).end();
    const serverInfo = { name: 'stateless', version: '1' };
    const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
    const listed = method === 'tools/list' ? { tools: TOOLS } : { content: [{ type: 'text', text: 'done' }] };
    const result = method === 'initialize' ? initialized : listed;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return void response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  });
  const path = gatewayPath(app, await agentOf(app, [await connectTo(app, upstream.url)]));
  const headers = await openSession(path);
  const { text } = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('ask') });
  expect(text).toContain('done');
  await upstream.close();
});

it('the stream of an agent continues with an edited connection, and each earlier session is ended once', async () => {
  const streams = new Set<ServerResponse>();
  const server = legacyServer(({ message }, response) =>
    sendResult(response, message, message.method === 'tools/list' ? { tools: TOOLS } : { content: [] }),
  );
  const upstream = await startScripted((request, response) => {
    if (request.method === 'GET') {
      streams.add(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.write(': open\n\n');
      return undefined;
    }
    return server.script(request, response);
  });
  const headersNamed = (name: string) => ({ connection_headers: { headers: { 'x-version': name } } });
  const id = await connectTo(app, upstream.url, headersNamed('old'));
  const path = gatewayPath(app, await agentOf(app, [id]));
  const headers = await openSession(path);
  const call = () => callProxy(app, path, { key: app.apiKey, headers, body: toolCall('ask') });
  const seen = (method: string) =>
    upstream.requests.filter((request) => request.method === method).map((request) => request.headers['x-version']);

  await call();
  const stream = await openProxy(app, path, { method: 'GET', key: app.apiKey, headers });
  stream.resume();
  await eventually(() => expect(streams.size).toBe(1));
  await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: headersNamed('new') });
  await call();
  const posted = seen('POST').length;
  for (const open of streams) open.end();
  await eventually(() => expect(seen('GET')).toHaveLength(2));
  expect(seen('GET')).toEqual(['old', 'new']);
  const ended = upstream.requests.filter(({ method }) => method === 'DELETE');
  const sessions = upstream.requests.flatMap(({ headers: sent }) =>
    sent['x-version'] === 'old' ? [sent['mcp-session-id'] ?? []].flat() : [],
  );
  expect(ended.map(({ headers: sent }) => sent['mcp-session-id']).toSorted()).toEqual(
    [...new Set(sessions)].toSorted(),
  );
  expect(seen('POST').slice(posted)).not.toContain('old');
  stream.destroy();
  await upstream.close();
});

it('a call whose caller hangs up during its preparation does not reach the tool', async () => {
  const isListing = Promise.withResolvers<void>();
  const list = Promise.withResolvers<void>();
  const server = legacyServer(async ({ message }, response) => {
    if (message.method === 'tools/list') {
      isListing.resolve();
      await list.promise;
      return sendResult(response, message, { tools: TOOLS });
    }
    return sendResult(response, message, { content: [] });
  });
  const upstream = await startScripted(server.script);
  const path = gatewayPath(app, await agentOf(app, [await connectTo(app, upstream.url)]));
  const body = JSON.stringify(toolCall('ask'));
  const { hostname, port, host } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${app.apiKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await isListing.promise;
  socket.destroy();
  await once(socket, 'close');
  // Who answers a later connection has seen the end of the earlier one.
  expect((await callProxy(app, path, { key: app.apiKey, body: rpc('ping') })).status).toBe(200);
  list.resolve();
  // This call waits for the same list.
  await callProxy(app, path, { key: app.apiKey, body: toolCall('ask') });
  expect(upstream.calls('tools/call')).toHaveLength(1);
  await upstream.close();
});

describe('an agent', () => {
  const PUBLIC = [{ ...TOOLS[0], _meta: { 'mcp.service': { public_tool: true } } }];
  let path: string;
  let connectionId: string;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const server = legacyServer(({ message }, response) => sendResult(response, message, { tools: PUBLIC }));
    const upstream = await startScripted(server.script);
    connectionId = await connectTo(app, upstream.url);
    path = gatewayPath(app, await agentOf(app, [connectionId], { instructions: 'Between us.' }));
    close = () => upstream.close();
  });
  afterAll(() => close());

  const initialize = (key?: string) => callProxy(app, path, { ...(key && { key }), body: rpc('initialize', ASKING) });
  const keyFor = (permissions: object) =>
    succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'limited', permissions });

  it('sends its instructions only to callers with a grant on it', async () => {
    expect((await initialize(app.apiKey)).text).toContain('Between us.');
    const { key: granted } = await keyFor({ [connectionId]: ['ask'] });
    expect((await initialize(granted)).text).toContain('Between us.');
    const { key: stranger } = await keyFor({ self: ['API_KEY_LIST'] });
    const answers = [await initialize(stranger), await initialize()];
    for (const { status, text } of answers) {
      expect([status, text.includes('"serverInfo"')]).toEqual([200, true]);
      expect(text).not.toContain('Between us.');
    }
  });

  it('ends the stream of a session with the session', async () => {
    const headers = await openSession(path);
    const stream = await openProxy(app, path, { method: 'GET', key: app.apiKey, headers });
    expect(stream.statusCode).toBe(200);
    const ended = new Promise((resolve) => stream.once('close', resolve));
    stream.resume();
    expect((await callProxy(app, path, { method: 'DELETE', key: app.apiKey, headers })).status).toBe(200);
    await ended;
  });

  it('ends the stream of a key that loses permissions', async () => {
    const { id, key } = await keyFor({ [connectionId]: ['*'] });
    const answer = await callProxy(app, path, { key, body: rpc('initialize', ASKING) });
    const headers = { 'mcp-session-id': String(answer.headers['mcp-session-id']), accept: BOTH };
    const stream = await openProxy(app, path, { method: 'GET', key, headers });
    const ended = new Promise((resolve) => stream.once('close', resolve).once('error', resolve));
    stream.resume();
    await succeed(app, 'API_KEY_UPDATE', { id, name: 'renamed' });
    const stays = await Promise.race([ended.then(() => 'ended'), sleep(1_500, 'open')]);
    expect(stays).toBe('open');
    await succeed(app, 'API_KEY_UPDATE', { id, permissions: { [connectionId]: ['ask'] } });
    await ended;
  });
});
