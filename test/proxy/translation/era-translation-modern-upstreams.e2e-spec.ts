import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openLegacy, openModern } from '../../support/era-clients.js';
import { type EraServer, INSTRUCTIONS, RESOURCE_ERROR, startEraServer } from '../../support/era-server.js';
import { callProxy, pathOf, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { useTenantOfTwo } from '../../support/use-started.js';

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const MODERN_PROGRAM = fileURLToPath(new URL('../../support/stdio-fixtures/modern-only-server.mjs', import.meta.url));

/** Two processes of one service. */
const [app, other] = useTenantOfTwo();

describe('a client of the legacy era at an upstream that supports only the modern era', () => {
  let upstream: EraServer;
  let connectionId: string;
  let client: Client;
  let transport: StreamableHTTPClientTransport;

  beforeAll(async () => {
    upstream = await startEraServer();
    connectionId = await connectTo(app, upstream.url);
    ({ client, transport } = await openLegacy(app, connectionId, { sampling: {} }));
  });
  afterAll(async () => {
    await client?.close();
    await upstream?.close();
  });

  it('gets the capabilities of both, in the name of the upstream', () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'era-server', version: '3.2.1' });
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: {},
      prompts: {},
      completions: {},
      logging: {},
    });
    expect(client.getInstructions()).toBe(INSTRUCTIONS);
    expect(transport.sessionId).toMatch(/^[\x21-\x7e]+$/);
  });

  it('lists and calls tools', async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'progress', 'slow', 'fails']);
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    expect(content).toEqual([{ type: 'text', text: 'echo: {"message":"hi"}' }]);
    expect(await client.callTool({ name: 'fails' })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'echo', arguments: {} })).toMatchObject({ isError: true });
  });

  it('receives progress', async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: object): void => void heard.push(progress);
    await client.callTool({ name: 'progress' }, undefined, { onprogress });
    expect(heard.slice(0, 2)).toEqual([
      { progress: 1, total: 3 },
      { progress: 2, total: 3 },
    ]);
  });

  it('reads resources and prompts, completes and pings', async () => {
    expect((await client.listResources()).resources[0]?.uri).toBe('era://one');
    expect((await client.readResource({ uri: 'era://one' })).contents[0]).toMatchObject({ text: 'The content' });
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { whom: 'Ada' } });
    expect(messages[0]?.content).toEqual({ type: 'text', text: 'Hello Ada' });
    const ref = { type: 'ref/prompt' as const, name: 'greet' };
    expect((await client.complete({ ref, argument: { name: 'whom', value: 'A' } })).completion.values).toEqual(['Ada']);
    expect(await client.ping()).toEqual({});
  });

  it('gets the errors of the upstream, and -32601 for methods that cannot be translated', async () => {
    await expect(client.readResource({ uri: 'era://two' })).rejects.toMatchObject({ code: RESOURCE_ERROR.code });
    const session = { 'mcp-session-id': transport.sessionId ?? '', 'mcp-protocol-version': '2025-11-25' };
    for (const method of ['resources/subscribe', 'tasks/list', 'no/method']) {
      const body = rpc(method, { level: 'debug', uri: 'era://one' });
      const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, headers: session, body });
      expect({ status: answer.status, code: rpcOf(answer).error?.code }).toEqual({ status: 200, code: -32601 });
    }
  });

  it('cancels a call', async () => {
    const abort = new AbortController();
    const call = client.callTool({ name: 'slow' }, undefined, { signal: abort.signal });
    call.catch(() => undefined);
    const isUnderWay = (): boolean =>
      upstream.calls('tools/call').some(({ message }) => message.params?.['name'] === 'slow');
    await eventually(isUnderWay);
    abort.abort();
    await expect(call).rejects.toThrow();
    await eventually(() => expect(upstream.aborted).toContain('slow'));
  });

  it('has its own session, which any process accepts and which can be ended', async () => {
    const headers = { 'mcp-session-id': transport.sessionId ?? '' };
    const key = await keyWith(app, { '*': ['*'] });
    const foreign = await callProxy(app, pathOf(app, connectionId), { key, headers, body: rpc('tools/list') });
    expect(foreign.status).toBe(404);
    const elsewhere = await callProxy(other, pathOf(app, connectionId), {
      key: app.apiKey,
      headers,
      body: rpc('tools/list'),
    });
    expect(rpcOf(elsewhere).result?.tools).toHaveLength(4);
    const end = await callProxy(app, pathOf(app, connectionId), { method: 'DELETE', key: app.apiKey, headers });
    expect(end.status).toBe(200);
  });

  it('sees and calls what it is permitted to, and is recorded', async () => {
    const key = await keyWith(app, { [connectionId]: ['fails'] });
    const open = async (as?: string): Promise<Record<string, string>> => {
      const answer = await callProxy(app, pathOf(app, connectionId), { key: as, body: rpc('initialize', INITIALIZE) });
      expect(rpcOf(answer).result).toMatchObject({ protocolVersion: '2025-06-18' });
      return { 'mcp-session-id': String(answer.headers['mcp-session-id']), 'mcp-protocol-version': '2025-06-18' };
    };
    const send = async (as: string | undefined, body: object, more = {}) =>
      callProxy(app, pathOf(app, connectionId), { key: as, headers: { ...(await open(as)), ...more }, body });
    const names = async (as?: string) =>
      rpcOf(await send(as, rpc('tools/list'))).result?.tools?.map(({ name }) => name);
    expect(await names(key)).toEqual(['echo', 'fails']);
    expect(await names()).toEqual(['echo']);
    expect((await send(key, toolCall('slow'))).status).toBe(403);
    expect((await send(undefined, toolCall('slow'))).status).toBe(401);
    const id = { 'x-request-id': 'era-translation-legacy' };
    expect((await send(undefined, toolCall('echo', { message: 'x' }), id)).status).toBe(200);
    expect(await auditOf(app, 'era-translation-legacy')).toMatchObject({
      tool_name: 'echo',
      status: 'success',
      public: true,
    });
  });

  it("gets the upstream's error for an invalid `initialize`", async () => {
    const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, body: rpc('initialize', {}) });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(rpcOf(answer).error?.code).toBe(-32022);
  });
});

describe('a program that supports only the modern era', () => {
  let connectionId: string;

  beforeAll(async () => {
    connectionId = await connectProgram(app, [MODERN_PROGRAM]);
  });

  it('works with clients of the legacy era', async () => {
    const { client } = await openLegacy(app, connectionId);
    expect(client.getServerVersion()?.name).toBe('modern-only');
    expect(await client.callTool({ name: 'pid' })).toMatchObject({
      content: [{ text: expect.stringMatching(/^\d+$/) }],
    });
    await client.close();
  });

  it('works with clients of the modern era', async () => {
    const client = await openModern(app, connectionId);
    expect((await client.listTools()).tools[0]?.name).toBe('pid');
    expect(await client.callTool({ name: 'pid' })).toMatchObject({
      content: [{ text: expect.stringMatching(/^\d+$/) }],
    });
    await client.close();
  });
});

describe('an upstream of both eras', () => {
  let upstream: EraServer;
  let connectionId: string;

  beforeAll(async () => {
    upstream = await startEraServer('stateless');
    connectionId = await connectTo(app, upstream.url);
  });
  afterAll(() => upstream?.close());

  it('gets the messages of callers of either era unchanged', async () => {
    const client = await openModern(app, connectionId, { sampling: {} });
    expect(client.getServerCapabilities()).toHaveProperty('logging');
    await client.callTool({ name: 'echo', arguments: { message: 'modern' } });
    const asked = upstream.calls('tools/call').at(-1)?.message.params ?? {};
    expect(asked['_meta']).toMatchObject({ 'io.modelcontextprotocol/clientInfo': { name: 'modern' } });
    await client.close();

    const answer = await callProxy(app, pathOf(app, connectionId), {
      key: app.apiKey,
      headers: { accept: 'text/event-stream' },
      body: rpc('initialize', INITIALIZE),
    });
    expect(answer.text).toContain('"logging"');
    expect(upstream.calls('initialize').at(-1)?.message.params).toEqual(INITIALIZE);
  });
});
