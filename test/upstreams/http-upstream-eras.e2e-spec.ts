import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import { eventually } from '../support/eventually.js';
import { startScripted, type ScriptedServer } from '../support/scripted-upstream.js';
import { failure, useHttpUpstreams } from './http-upstream.support.js';

const connect = useHttpUpstreams();

describe('HttpUpstream against server-everything', () => {
  let server: EverythingServer;
  beforeAll(async () => {
    server = await startEverything();
  });
  afterAll(() => server.close());

  it('connects lazily, lists the tools and describes the server', async () => {
    const upstream = connect(server.url);
    expect(upstream.protocolVersion).toBeUndefined();
    const tools = await upstream.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect(upstream.protocolVersion).toBe('2025-11-25');
    expect(await upstream.serverDescription()).toMatchObject({
      serverInfo: { name: 'mcp-servers/everything' },
      instructions: expect.stringContaining('Everything Server'),
    });
  });

  it('calls tools and keeps structured content', async () => {
    const upstream = connect(server.url);
    await expect(upstream.callTool('echo', { message: 'hi' })).resolves.toEqual({
      content: [{ type: 'text', text: 'Echo: hi' }],
    });
    await upstream.listTools();
    await expect(upstream.callTool('get-structured-content', { location: 'New York' })).resolves.toMatchObject({
      structuredContent: { temperature: expect.any(Number) },
    });
    await expect(upstream.callTool('get-sum', { a: 'one' })).resolves.toMatchObject({ isError: true });
  });

  it('reports progress', async () => {
    const progress: unknown[] = [];
    await connect(server.url).callTool(
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { onProgress: (step) => progress.push(step) },
    );
    expect(progress).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3 })));
  });

  it('gives up after the time limit of the call', async () => {
    const upstream = connect(server.url);
    await upstream.listTools();
    const slow = upstream.callTool('trigger-long-running-operation', { duration: 20, steps: 1 }, { timeoutMs: 200 });
    const error = await failure(slow);
    expect(error.kind).toBe('timeout');
    expect(error.message).toMatch(/^The upstream at 127\.0\.0\.1:\d+ did not answer within 200 ms\.$/);
    await expect(upstream.callTool('echo', { message: 'again' })).resolves.toBeDefined();
  });
});

describe('HttpUpstream against a modern server', () => {
  let server: ScriptedServer;
  let begun = 0;
  let cancelled = Promise.withResolvers<void>();

  function createServer(): McpServer {
    const mcp = new McpServer({ name: 'modern', version: '1' }, { instructions: 'Be modern.' });
    mcp.registerTool('echo', {}, async () => ({ content: [{ type: 'text', text: 'modern' }] }));
    const region = { type: 'string', 'x-mcp-header': 'Region' } as const;
    const inputSchema = fromJsonSchema<{ region: string }>({ type: 'object', properties: { region } });
    mcp.registerTool('routed', { inputSchema }, async ({ region }) => ({ content: [{ type: 'text', text: region }] }));
    mcp.registerTool('hang', {}, async ({ mcpReq: { signal } }) => {
      begun++;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      cancelled.resolve();
      return { content: [] };
    });
    return mcp;
  }

  beforeAll(async () => {
    const handler = createMcpHandler(createServer);
    server = await startScripted(async ({ method, headers, message, hungUp }, response) => {
      const abort = new AbortController();
      void hungUp.then((early) => early && abort.abort());
      const answer = await handler.fetch(
        new Request(server.url, {
          method,
          headers: new Headers(headers as Record<string, string>),
          body: method === 'POST' ? JSON.stringify(message) : null,
          signal: abort.signal,
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    });
  });
  afterAll(() => server.close());

  it('uses the stateless revision', async () => {
    const upstream = connect(server.url);
    expect((await upstream.listTools()).map(({ name }) => name)).toEqual(['echo', 'routed', 'hang']);
    await expect(upstream.callTool('echo', {})).resolves.toMatchObject({ content: [{ type: 'text', text: 'modern' }] });
    expect(upstream.protocolVersion).toBe('2026-07-28');
    expect((await upstream.serverDescription()).instructions).toBe('Be modern.');
    expect(server.calls('initialize')).toEqual([]);
    expect(server.calls('tools/call')[0]?.headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'echo' });
  });

  it('repeats arguments in headers where a tool requires it, even if the first call does not know', async () => {
    const upstream = connect(server.url);
    const text = { content: [{ type: 'text', text: 'zürich' }] };
    await expect(upstream.callTool('routed', { region: 'zürich' })).resolves.toMatchObject(text);
    await expect(upstream.callTool('routed', { region: 'zürich' })).resolves.toMatchObject(text);
    const routed = server.calls('tools/call').filter(({ message }) => message.params?.['name'] === 'routed');
    expect(routed.map(({ headers }) => headers['mcp-param-region'] !== undefined)).toEqual([false, true, true]);
  });

  it('cancels by closing the stream', async () => {
    cancelled = Promise.withResolvers();
    const upstream = connect(server.url);
    await upstream.listTools();
    // The time can be over before the call arrives.
    await eventually(async () => {
      const before = begun;
      expect((await failure(upstream.callTool('hang', {}, { timeoutMs: 200 }))).kind).toBe('timeout');
      return begun > before;
    });
    await cancelled.promise;
  });
});
