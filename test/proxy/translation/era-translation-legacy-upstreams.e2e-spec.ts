import { tmpdir } from 'node:os';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../../support/tenant.js';
import { MODERN, modernRequest, openModern } from '../../support/era-clients.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { entryOf } from '../../support/reference-servers.js';
import {
  legacyServer,
  type ScriptedServer,
  sendJson,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';
import { useStarted } from '../../support/use-started.js';

const PATIENCE_MS = 60_000;

const app = useStarted(newTenant);

describe('a client of the modern era at server-everything, which supports the legacy era', () => {
  let everything: EverythingServer;
  let connectionId: string;
  let client: Client;

  beforeAll(async () => {
    everything = await startEverything();
    connectionId = await connectTo(app, everything.url);
    client = await openModern(app, connectionId);
  }, PATIENCE_MS);
  afterAll(async () => {
    await client?.close();
    await everything?.close();
  });

  it('gets the capabilities of both, in the name of the upstream', () => {
    expect(client.getProtocolEra()).toBe('modern');
    expect(client.getServerVersion()?.name).toContain('everything');
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    });
    expect(client.getInstructions()).toContain('#');
  });

  it('lists and calls tools', async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get-sum');
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'häßlich ☃' } });
    expect(content).toEqual([{ type: 'text', text: 'Echo: häßlich ☃' }]);
    expect(
      await client.callTool({ name: 'get-structured-content', arguments: { location: 'Chicago' } }),
    ).toHaveProperty('structuredContent.temperature');
  });

  it('receives progress', async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: object): void => void heard.push(progress);
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } };
    await client.callTool(call, { onprogress });
    expect(heard.slice(0, 2)).toMatchObject([
      { progress: 1, total: 3 },
      { progress: 2, total: 3 },
    ]);
  });

  it('reads resources and prompts, and completes', async () => {
    const { resources } = await client.listResources();
    const uri = resources[0]?.uri ?? '';
    expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri);
    expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(0);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('args-prompt');
    const { messages } = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bern' } });
    expect(JSON.stringify(messages)).toContain('Bern');
    const ref = { type: 'ref/prompt' as const, name: 'completable-prompt' };
    const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'S' } });
    expect(completion.values).toEqual(['Sales', 'Support']);
  });

  it('gets the errors of the upstream, and of invalid arguments', async () => {
    await expect(client.readResource({ uri: 'demo://nothing' })).rejects.toMatchObject({ code: -32602 });
    expect(await client.callTool({ name: 'get-sum', arguments: { a: 'one' } })).toMatchObject({ isError: true });
  });

  it('with sampling or elicitation is not sent to the legacy era, but with tasks', async () => {
    const client = await openModern(app, connectionId, { sampling: {}, elicitation: {} });
    expect(client.getServerCapabilities()).toMatchObject({ tools: {} });
    await client.close();
    await expect(openModern(app, connectionId, { tasks: {} })).rejects.toThrow(MODERN);
  });

  it('gets the HTTP statuses of its era', async () => {
    const { key } = { key: app.apiKey };
    const unknown = await callProxy(app, pathOf(app, connectionId), { key, ...modernRequest('tasks/list') });
    expect({ status: unknown.status, error: rpcOf(unknown).error }).toMatchObject({
      status: 404,
      error: { code: -32601 },
    });
    const future = modernRequest('tools/list', {}, { version: '2099-01-01' });
    const unsupported = await callProxy(app, pathOf(app, connectionId), { key, ...future });
    expect(unsupported.status).toBe(400);
    expect(rpcOf(unsupported).error).toMatchObject({ code: -32022, data: { supported: [MODERN] } });
    const { headers, body } = modernRequest('tools/call', { name: 'echo', arguments: { message: 'x' } });
    const { 'mcp-name': _left, ...rest } = headers;
    const nameless = await callProxy(app, pathOf(app, connectionId), { key, headers: rest, body });
    expect({ status: nameless.status, code: rpcOf(nameless).error?.code }).toEqual({ status: 400, code: -32020 });
    const bare = { headers, body: toolCall('echo', { message: 'x' }) };
    const unwrapped = await callProxy(app, pathOf(app, connectionId), { key, ...bare });
    expect({ status: unwrapped.status, code: rpcOf(unwrapped).error?.code }).toEqual({ status: 400, code: -32602 });
  });

  it('is recorded like any other caller', async () => {
    const id = 'era-translation-audit';
    const call = modernRequest(
      'tools/call',
      { name: 'echo', arguments: { message: 'x' } },
      { headers: { 'x-request-id': id } },
    );
    expect((await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...call })).status).toBe(200);
    expect(await auditOf(app, id)).toMatchObject({
      door: 'proxy',
      tool_name: 'echo',
      status: 'success',
      public: false,
    });
  });

  it('can use the legacy path', async () => {
    const answer = await callProxy(app, `/mcp/${connectionId}`, {
      key: app.apiKey,
      ...modernRequest('server/discover'),
    });
    expect(rpcOf(answer).result).toMatchObject({ supportedVersions: [MODERN], resultType: 'complete' });
    expect(answer.headers['deprecation']).toBeDefined();
  });
});

describe('a client of the modern era at server-filesystem over STDIO', () => {
  let client: Client;

  beforeAll(async () => {
    client = await openModern(app, await connectProgram(app, [entryOf('server-filesystem'), tmpdir()]));
  }, PATIENCE_MS);
  afterAll(() => client?.close());

  it('uses its tools', async () => {
    expect(client.getServerVersion()?.name).toBe('secure-filesystem-server');
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true } });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list_allowed_directories');
    const { content } = await client.callTool({ name: 'list_allowed_directories' });
    expect(JSON.stringify(content)).toContain(tmpdir());
    const failed = await client.callTool({ name: 'read_text_file', arguments: { path: '/etc/passwd' } });
    expect(failed.isError).toBe(true);
  });
});

describe('callers of the modern era at an upstream of the legacy one', () => {
  const PUBLIC = { 'mcp.service': { public_tool: true } };
  const TOOLS = [
    { name: 'open', inputSchema: { type: 'object' }, _meta: PUBLIC },
    { name: 'closed', inputSchema: { type: 'object' } },
    { name: 'silent', inputSchema: { type: 'object' } },
  ];
  let upstream: ScriptedServer;
  let connectionId: string;

  beforeAll(async () => {
    const { script } = legacyServer(({ message }, response) => {
      if (message.method === 'tools/list')
        return sendResult(response, message, { tools: TOOLS, ttlMs: 9, cacheScope: 'public' });
      if (message.method !== 'tools/call')
        return sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32050, message: 'Not so' } });
      if (message.params?.['name'] === 'silent') return undefined;
      // Exceeds the precision of a double, and must reach the caller unchanged.
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[],"structuredContent":{"n":12345678901234567890}}}`,
      );
    });
    upstream = await startScripted(script);
    connectionId = await connectTo(app, upstream.url);
  });
  afterAll(() => upstream?.close());

  const ask = (key: string | undefined, method: string, params = {}, headers = {}) =>
    callProxy(app, pathOf(app, connectionId), { key, ...modernRequest(method, params, { headers }) });
  const call = (key: string | undefined, name: string) => ask(key, 'tools/call', { name, arguments: {} });

  it('see and call what they are permitted to', async () => {
    const granted = await keyWith(app, { [connectionId]: ['closed'] });
    const none = await keyWith(app, { self: ['*'] });
    const seen = async (key?: string) => rpcOf(await ask(key, 'tools/list')).result?.tools?.map(({ name }) => name);
    expect(await seen(app.apiKey)).toEqual(['open', 'closed', 'silent']);
    expect(await seen(granted)).toEqual(['open', 'closed']);
    expect(await seen(none)).toEqual(['open']);
    expect(await seen()).toEqual(['open']);
    const statuses = async (key?: string) => [(await call(key, 'open')).status, (await call(key, 'closed')).status];
    expect(await statuses(granted)).toEqual([200, 200]);
    expect(await statuses(none)).toEqual([200, 403]);
    expect(await statuses()).toEqual([200, 401]);
    expect((await call('sbx_nothing', 'open')).status).toBe(401);
    expect((await ask(granted, 'resources/read', { uri: 'a:b' })).status).toBe(403);
  });

  it('get the members that the era requires, and every other byte unchanged', async () => {
    const listed = rpcOf(await ask(app.apiKey, 'tools/list')).result;
    expect(listed).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    const { text } = await call(app.apiKey, 'closed');
    expect(text).toContain('12345678901234567890');
    expect(rpcOf({ text })).toMatchObject({ id: 1, result: { resultType: 'complete', content: [] } });
    const message = upstream.calls('tools/call').at(-1)?.message;
    expect(message?.params).toEqual({ name: 'closed', arguments: {}, _meta: {} });
  });

  it('get the errors of the upstream as it sent them', async () => {
    const { error } = rpcOf(await ask(app.apiKey, 'prompts/list'));
    expect(error).toEqual({ code: -32050, message: 'Not so' });
  });

  it('get a timeout error, and the upstream gets a cancellation', async () => {
    const hasty = pathOf(app, await connectTo(app, upstream.url, { timeout: 1_000 }));
    const silent = modernRequest('tools/call', { name: 'silent', arguments: {} });
    // The time can be over before the call is sent.
    const { message: sent } = await eventually(async () => {
      const before = upstream.calls('tools/call').length;
      const { error } = rpcOf(await callProxy(app, hasty, { key: app.apiKey, ...silent }));
      expect(error).toMatchObject({ code: -32603, data: { code: 'upstream_timeout' } });
      return upstream.calls('tools/call')[before] ?? false;
    });
    await eventually(() =>
      upstream.calls('notifications/cancelled').some(({ message }) => message.params?.['requestId'] === sent.id),
    );
  });
});

it('a caller of the modern era gets 503 while the upstream is unavailable, and the call is recorded', async () => {
  const upstream = await startScripted(legacyServer(() => undefined).script);
  const connectionId = await connectTo(app, upstream.url);
  await upstream.close();
  const headers = { 'x-request-id': 'era-translation-away' };
  const call = modernRequest('tools/call', { name: 'any' }, { headers });
  const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...call });
  expect(answer.status).toBe(503);
  expect(await auditOf(app, 'era-translation-away')).toMatchObject({ tool_name: 'any', status: 'error' });
});
