import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { type FieldClient, openLegacyClient, openModernClient } from '../support/field-clients.js';
import { FLOWS } from '../support/field-flows.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { callProxy, eventsOf, openProxy, type ProxyAnswer, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith, until } from '../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../support/scripted-upstream.js';

const ASKING = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'test', version: '1' },
  capabilities: { sampling: {} },
};
const TOOLS = [{ name: 'ask', inputSchema: { type: 'object' } }];

/** Two processes of one service. */
let app: TestApp;
let other: TestApp;
let everything: EverythingServer;

beforeAll(async () => {
  everything = await startEverything();
  app = await startTestApp();
  other = await startTestApp({ database: app.database });
});
afterAll(async () => {
  await other?.close();
  await app?.close();
  await everything?.close();
});

/** Sorts a list, because an agent sorts by name. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const byName = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, Array.isArray(member) ? member.toSorted(byName) : member]),
  );
}

describe.each([
  ['@modelcontextprotocol/sdk 1.32', openLegacyClient],
  ['@modelcontextprotocol/client 2.4', openModernClient],
])('%s, at an agent over server-everything', (_title, open) => {
  let direct: FieldClient;
  let proxied: FieldClient;
  beforeAll(async () => {
    const agent = await agentOf(app, [await connectTo(app, everything.url)]);
    direct = await open({ url: everything.url });
    proxied = await open({ url: app.url + gatewayPath(agent), apiKey: app.apiKey });
  });
  afterAll(async () => {
    await direct?.close();
    await proxied?.close();
  });

  it.each(FLOWS)('$title', async ({ run }) => {
    const expected = sorted(await run(direct));
    expect(sorted(await run(proxied))).toEqual(expected);
  });

  it('gets requests of two connections at once, and each gets its own answer', async () => {
    const members = [await connectTo(app, everything.url, { title: 'Left' }), await connectTo(app, everything.url)];
    const client = await open({ url: app.url + gatewayPath(await agentOf(app, members)), apiKey: app.apiKey });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const asking = names.filter((name) => name.endsWith('trigger-sampling-request'));
    expect(asking).toHaveLength(2);
    const results = await Promise.all(asking.map((name) => client.callTool(name, { prompt: `for ${name}` })));
    for (const result of results) expect(JSON.stringify(result)).toContain('The answer of the model');
    expect(client.asked.map((params) => JSON.stringify(params)).toSorted()).toEqual([
      expect.stringContaining(`for ${asking.toSorted()[0]}`),
      expect.stringContaining(`for ${asking.toSorted()[1]}`),
    ]);
    await client.close();
  });
});

describe('a request of an upstream to the caller of an agent', () => {
  let upstream: ScriptedServer;
  let forget: () => void;
  let connectionId: string;
  let path: string;
  /** The answers that the upstream received, with their sessions. */
  let answers: { session: unknown; message: RpcMessage & { result?: unknown } }[];
  let waiting: { response: ServerResponse; id: RpcMessage['id'] }[];

  beforeAll(async () => {
    const server = legacyServer(({ message, headers }, response) => {
      if (message.method === undefined) {
        answers.push({ session: headers['mcp-session-id'], message });
        response.writeHead(202).end();
        const asked = waiting.shift();
        const done = { jsonrpc: '2.0', id: asked?.id, result: { content: [{ type: 'text', text: 'done' }] } };
        asked?.response.end(`data: ${JSON.stringify(done)}\n\n`);
      } else if (message.method === 'tools/list') sendResult(response, message, { tools: TOOLS });
      else if (message.method === 'tools/call') {
        waiting.push({ response, id: message.id });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const request = {
          jsonrpc: '2.0',
          id: 7,
          method: 'sampling/createMessage',
          params: { big: 'x'.repeat(100_000) },
        };
        response.write(`event: message\ndata: ${JSON.stringify(request)}\n\n`);
      } else sendResult(response, message, {});
    });
    ({ forget } = server);
    upstream = await startScripted(server.script);
    connectionId = await connectTo(app, upstream.url);
    path = gatewayPath(await agentOf(app, [connectionId]));
  });
  beforeEach(() => {
    [answers, waiting] = [[], []];
  });
  afterAll(() => upstream?.close());

  async function open(key = app.apiKey, params: object = ASKING): Promise<Record<string, string>> {
    const answer = await callProxy(app, path, { key, body: rpc('initialize', params) });
    expect(answer.status).toBe(200);
    return {
      'mcp-session-id': String(answer.headers['mcp-session-id']),
      accept: 'application/json, text/event-stream',
    };
  }

  /** Calls the tool. Returns the id of the upstream's request, and the rest of the stream. */
  async function ask(
    headers: Record<string, string>,
    key = app.apiKey,
  ): Promise<{ id: string; rest: Promise<string> }> {
    const stream = await openProxy(app, path, { key, headers, body: toolCall('ask') });
    const text = async (): Promise<string> => {
      for await (const chunk of stream) received += String(chunk);
      return received;
    };
    let received = '';
    const rest = text();
    await until(
      'the upstream sends its request',
      () => received.endsWith('\n\n') && received.includes('sampling/createMessage'),
    );
    const [asked] = eventsOf({ text: received }) as unknown as [{ id: string; params: { big: string } }];
    expect(asked.params.big).toHaveLength(100_000);
    return { id: asked.id, rest };
  }

  const answerTo = (id: unknown, headers: Record<string, string>, key = app.apiKey, at = app): Promise<ProxyAnswer> =>
    callProxy(at, path, { key, headers, body: { jsonrpc: '2.0', id, result: { role: 'assistant' } } });

  const errorOf = (answer: ProxyAnswer) => [answer.status, rpcOf(answer).error?.data.code];

  it.each([
    ['the process that relayed it', () => app],
    ['another process', () => other],
  ])("is answered through %s, under the upstream's id", async (_title, at) => {
    const session = await open();
    const { id, rest } = await ask(session);
    expect(id).not.toContain('session-');
    expect((await answerTo(id, session, app.apiKey, at())).status).toBe(202);
    expect(await rest).toContain('done');
    expect(answers).toMatchObject([{ session: expect.stringContaining('session-'), message: { id: 7 } }]);
  });

  it('cannot be answered by other callers, or under a forged id', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const key = await keyWith(app, { '*': ['*'] });
    const refused = [400, 'invalid_rpc_request'];
    expect(errorOf(await answerTo(id, await open(key), key))).toEqual(refused);
    expect(errorOf(await answerTo(id, await open()))).toEqual(refused);
    expect(errorOf(await answerTo(id, session, key))).toEqual([404, 'session_not_found']);
    for (const forged of [7, 'x', `${id}x`, `${id.slice(0, -2)}AA`, session['mcp-session-id']]) {
      expect(errorOf(await answerTo(forged, session))).toEqual(refused);
    }
    expect(answers).toEqual([]);
    expect((await answerTo(id, session)).status).toBe(202);
    await rest;
  });

  it('cannot be answered by a caller who is no longer permitted to use the connection', async () => {
    const { id: keyId, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', {
      name: 'limited',
      permissions: { [connectionId]: ['ask'] },
    });
    const session = await open(key);
    const { id, rest } = await ask(session, key);
    await succeed(app, 'API_KEY_UPDATE', { id: keyId, permissions: { [connectionId]: ['other'] } });
    expect(errorOf(await answerTo(id, session, key))).toEqual([403, 'permission_denied']);
    expect(answers).toEqual([]);
    waiting.shift()?.response.destroy();
    await rest.catch(() => undefined);
  });

  it('does not reach a client without capabilities, which has no client-upstream session', async () => {
    const session = await open(app.apiKey, { ...ASKING, capabilities: {} });
    const before = upstream.calls('initialize').length;
    const call = callProxy(app, path, { key: app.apiKey, headers: session, body: toolCall('ask') });
    await until('the call arrives', () => waiting.length > 0);
    waiting.shift()?.response.end();
    expect((await call).text).not.toContain('sampling');
    const opened = upstream.calls('initialize').slice(before);
    expect(JSON.stringify(opened.map(({ message }) => message.params))).not.toContain('sampling');
  });

  it('does not deliver an answer to a request that another connection received', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const spoofed = { jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'spoofed' }] } };
    waiting[0]?.response.write(`id: 1\ndata: ${JSON.stringify(spoofed)}\n\n`);
    await answerTo(id, session);
    const received = await rest;
    expect(received).toContain('done');
    expect(received).not.toContain('spoofed');
  });

  it('is recorded as part of its tool call', async () => {
    const requestId = `asked-${Date.now()}`;
    const session = await open();
    const { id, rest } = await ask({ ...session, 'x-request-id': requestId });
    await answerTo(id, session);
    await rest;
    expect(await auditOf(app, requestId)).toMatchObject({
      door: 'gateway',
      connection_id: connectionId,
      agent_id: path.split('/').at(-1),
      tool_name: 'ask',
      status: 'success',
    });
  });

  it('does not deliver such an answer in a shared session either', async () => {
    const session = await open(app.apiKey, { ...ASKING, capabilities: {} });
    const call = callProxy(app, path, { key: app.apiKey, headers: session, body: toolCall('ask') });
    await until('the call arrives', () => waiting.length > 0);
    const [asked] = waiting.splice(0);
    const answer = (id: unknown, text: string) =>
      `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })}\n\n`;
    asked?.response.end(answer(2, 'spoofed') + answer(asked.id, 'done'));
    const { text } = await call;
    expect(text).toContain('done');
    expect(text).not.toContain('spoofed');
  });

  it('does not block other tools while an upstream does not open a session', async () => {
    const isOpening = Promise.withResolvers<void>();
    const server = legacyServer(({ message }, response) => {
      if (message.method === 'tools/list') sendResult(response, message, { tools: [{ ...TOOLS[0], name: 'slow' }] });
      else sendResult(response, message, { content: [{ type: 'text', text: 'called as everyone calls it' }] });
    });
    const slow = await startScripted((request, response) => {
      const { capabilities = {} } = (request.message.params ?? {}) as { capabilities?: object };
      // Never answers a client with capabilities.
      if (request.message.method === 'initialize' && 'sampling' in capabilities) isOpening.resolve();
      else return server.script(request, response);
      return undefined;
    });
    const agent = gatewayPath(await agentOf(app, [connectionId, await connectTo(app, slow.url)]));
    const opening = await callProxy(app, agent, { key: app.apiKey, body: rpc('initialize', ASKING) });
    const headers = {
      'mcp-session-id': String(opening.headers['mcp-session-id']),
      accept: 'application/json, text/event-stream',
    };
    const listed = await callProxy(app, agent, { key: app.apiKey, headers, body: rpc('tools/list') });
    await isOpening.promise;
    expect(rpcOf(listed).result?.tools?.map(({ name }) => name)).toEqual(['ask', 'slow']);
    const called = await callProxy(app, agent, { key: app.apiKey, headers, body: toolCall('slow') });
    expect(rpcOf(called).result?.content?.[0]?.text).toBe('called as everyone calls it');
    await slow.close();
  });

  it('arrives in another session when the upstream lost the first, and the tool runs once', async () => {
    const session = await open();
    const first = await ask(session);
    await answerTo(first.id, session);
    await first.rest;
    forget();
    const ran = upstream.calls('tools/call').length;
    const second = await ask(session);
    expect((await answerTo(second.id, session)).status).toBe(202);
    expect(await second.rest).toContain('done');
    // The first attempt used a session that no longer existed.
    expect(upstream.calls('tools/call').length - ran).toBe(2);
    expect(new Set(answers.map((answer) => answer.session)).size).toBe(2);
  });

  it('can be answered after the upstream lost the session, which does not affect the caller', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    forget();
    expect((await answerTo(id, session)).status).toBe(202);
    expect(answers).toEqual([]);
    waiting.shift()?.response.destroy();
    expect(await rest).toContain('upstream_');
    const again = await ask(session);
    expect((await answerTo(again.id, session)).status).toBe(202);
    expect(await again.rest).toContain('done');
  });

  it('ends with the session of the caller', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const ended = upstream.requests.filter(({ method }) => method === 'DELETE').length;
    expect((await callProxy(app, path, { method: 'DELETE', key: app.apiKey, headers: session })).status).toBe(200);
    await until(
      'the session is ended',
      () => upstream.requests.filter(({ method }) => method === 'DELETE').length > ended,
    );
    expect(errorOf(await answerTo(id, session))).toEqual([404, 'session_not_found']);
    waiting.shift()?.response.destroy();
    await rest.catch(() => undefined);
  });

  it('is not sent to a caller that does not accept a stream', async () => {
    const { 'mcp-session-id': id = '' } = await open();
    const headers = { 'mcp-session-id': id, accept: 'application/json' };
    const call = callProxy(app, path, { key: app.apiKey, headers, body: toolCall('ask') });
    await until('the call arrives', () => waiting.length > 0);
    waiting.shift()?.response.end();
    expect((await call).text).not.toContain('sampling');
  });
});
