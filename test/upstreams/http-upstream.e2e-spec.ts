import type { ServerResponse } from 'node:http';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AddressPolicy } from '../../src/net/address-policy.js';
import { parseAllowList } from '../../src/net/allow-list.js';
import { GuardedDispatcher } from '../../src/net/guarded-dispatcher.js';
import { HttpUpstream } from '../../src/upstreams/http/http-upstream.js';
import { UpstreamError, type UpstreamErrorKind } from '../../src/upstreams/contract/upstream-error.js';
import { UpstreamSockets } from '../../src/upstreams/sockets/upstream-sockets.js';
import type { HttpTarget } from '../../src/upstreams/contract/upstream-target.js';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import {
  legacyServer,
  sendJson,
  sendResult,
  startScripted,
  type Script,
  type ScriptedServer,
} from '../support/scripted-upstream.js';

const open = new UpstreamSockets(new GuardedDispatcher(new AddressPolicy({ allowPrivate: true, allow: [] })));
const upstreams: HttpUpstream[] = [];

function connect(url: string, target: Partial<HttpTarget> = {}, sockets = open): HttpUpstream {
  const upstream = new HttpUpstream(
    { organizationId: 'o', connectionId: 'c', revision: '1', url, headers: {}, timeoutMs: 10_000, ...target },
    sockets,
  );
  upstreams.push(upstream);
  return upstream;
}

async function failure(work: Promise<unknown>): Promise<UpstreamError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UpstreamError);
  return error as UpstreamError;
}

afterEach(async () => {
  await Promise.all(upstreams.splice(0).map((upstream) => upstream.close()));
});
afterAll(() => open.destroy());

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
    expect(upstream.serverInfo).toMatchObject({ name: 'mcp-servers/everything' });
    expect(upstream.instructions).toContain('Everything Server');
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
  let cancelled = Promise.withResolvers<void>();

  function createServer(): McpServer {
    const mcp = new McpServer({ name: 'modern', version: '1' }, { instructions: 'Be modern.' });
    mcp.registerTool('echo', {}, async () => ({ content: [{ type: 'text', text: 'modern' }] }));
    const region = { type: 'string', 'x-mcp-header': 'Region' } as const;
    const inputSchema = fromJsonSchema<{ region: string }>({ type: 'object', properties: { region } });
    mcp.registerTool('routed', { inputSchema }, async ({ region }) => ({ content: [{ type: 'text', text: region }] }));
    mcp.registerTool('hang', {}, async (context) => {
      await new Promise((resolve) => context.mcpReq.signal.addEventListener('abort', resolve));
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
    expect(upstream.instructions).toBe('Be modern.');
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
    const error = await failure(upstream.callTool('hang', {}, { timeoutMs: 200 }));
    expect(error.kind).toBe('timeout');
    await cancelled.promise;
  });
});

describe('HttpUpstream against a scripted server', () => {
  let server: ScriptedServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  async function start(script: Script): Promise<ScriptedServer> {
    server = await startScripted(script);
    return server;
  }

  /** A legacy server that answers `tools/call` with the function. */
  const startLegacy = (script: Script): Promise<ScriptedServer> => start(legacyServer(script).script);

  it('sends the stored credentials and no other secret', async () => {
    const { url, calls } = await startLegacy(({ message }, response) => sendResult(response, message, { content: [] }));
    const headers = { 'X-Api-Key': 'k1', Cookie: 'a=b', Host: 'evil', 'Mcp-Session-Id': 'stolen' };
    await connect(url, { headers, bearerToken: 'token' }).callTool('t', {}, { requestId: 'req-1' });
    const sent = calls('tools/call')[0]?.headers;
    expect(sent).toMatchObject({
      authorization: 'Bearer token',
      'x-api-key': 'k1',
      cookie: 'a=b',
      'mcp-session-id': 'session-1',
      'mcp-protocol-version': '2025-11-25',
      'x-request-id': 'req-1',
    });
    expect(sent?.host).not.toBe('evil');
  });

  it('prefers a stored Authorization header to the token', async () => {
    const { url, calls } = await startLegacy(({ message }, response) => sendResult(response, message, { content: [] }));
    await connect(url, { headers: { Authorization: 'Basic eA==' }, bearerToken: 'token' }).callTool('t', {});
    expect(calls('initialize')[0]?.headers.authorization).toBe('Basic eA==');
  });

  it('keeps unknown members of results and tools', async () => {
    const tool = { name: 't', inputSchema: { type: 'object', 'x-a': 1 }, 'x-b': 2, outputSchema: { pattern: '(' } };
    const result = {
      content: [{ type: 'hologram', 'x-c': 3 }],
      structuredContent: [1],
      isError: true,
      _meta: { m: 1 },
    };
    const { url } = await startLegacy(({ message }, response) =>
      sendResult(response, message, message.method === 'tools/list' ? { tools: [tool] } : result),
    );
    const upstream = connect(url);
    await expect(upstream.listTools()).resolves.toEqual([tool]);
    await expect(upstream.callTool('t', {})).resolves.toEqual(result);
  });

  it('shares one handshake among concurrent first calls, and retries after a failed one', async () => {
    let failing = true;
    const legacy = legacyServer(({ message }, response) => sendResult(response, message, { content: [] }));
    const { url, calls } = await start((request, response) =>
      failing ? void response.writeHead(500).end() : legacy.script(request, response),
    );
    const upstream = connect(url);
    const failures = await Promise.all([1, 2, 3].map(() => failure(upstream.callTool('t', {}))));
    expect(failures.map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable', 'unreachable']);
    expect(calls('server/discover')).toHaveLength(1);
    failing = false;
    await Promise.all([1, 2, 3].map(() => upstream.callTool('t', {})));
    expect(calls('initialize')).toHaveLength(1);
  });

  it.each([
    ['404', (response: ServerResponse): void => void response.writeHead(404).end()],
    [
      '400 that mentions the session',
      (response: ServerResponse): void =>
        void response.writeHead(400).end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID"}}'),
    ],
  ])('opens a new session when the upstream no longer knows it (%s)', async (_name, unknownSession) => {
    const legacy = legacyServer(
      ({ message }, response) => sendResult(response, message, { content: [] }),
      unknownSession,
    );
    const { url, calls } = await start(legacy.script);
    const upstream = connect(url);
    await upstream.callTool('t', {});
    legacy.forget();
    await Promise.all([upstream.callTool('t', {}), upstream.callTool('t', {})]);
    expect(calls('initialize')).toHaveLength(2);
    expect(calls('tools/call')).toHaveLength(5);
  });

  it('reopens a lost session only once', async () => {
    const legacy = legacyServer(() => undefined);
    const { url, calls } = await start((request, response) => {
      if (request.message.method === 'tools/call') legacy.forget();
      return legacy.script(request, response);
    });
    const error = await failure(connect(url).callTool('t', {}));
    expect(error).toMatchObject({ kind: 'protocol', status: 404 });
    expect(calls('tools/call')).toHaveLength(2);
  });

  it('ends its session when it is closed', async () => {
    const { url, requests } = await startLegacy(({ message }, response) =>
      sendResult(response, message, { content: [] }),
    );
    const upstream = connect(url);
    await upstream.callTool('t', {});
    await upstream.close();
    expect(requests.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 'session-1' } });
    expect((await failure(upstream.callTool('t', {}))).kind).toBe('cancelled');
  });

  it('cancels at the upstream and hangs up when the caller gives up', async () => {
    const called = Promise.withResolvers<void>();
    const { url, calls } = await startLegacy((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      called.resolve();
    });
    const caller = new AbortController();
    const call = failure(connect(url).callTool('t', {}, { signal: caller.signal }));
    await called.promise;
    caller.abort(new Error('SECRET reason'));
    expect((await call).kind).toBe('cancelled');
    const [request] = calls('tools/call');
    await expect(request?.hungUp).resolves.toBe(true);
    expect(calls('notifications/cancelled')[0]?.message.params).toEqual({
      requestId: request?.message.id,
      reason: 'cancelled',
    });
  });

  it('resumes a stream that the upstream interrupts', async () => {
    const legacy = legacyServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e1\nretry: 10\ndata: \n\n');
    });
    const { url, calls } = await start((request, response) => {
      if (request.headers['last-event-id'] !== 'e1') return legacy.script(request, response);
      const id = calls('tools/call')[0]?.message.id;
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`id: e2\ndata: ${answer}\n\n`);
    });
    await expect(connect(url).callTool('t', {})).resolves.toEqual({ content: [] });
  });

  it('closes a stream that continues after the response', async () => {
    const { url, calls } = await startLegacy(({ message }, response) => {
      const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } });
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${answer}\n\n`);
    });
    await connect(url).callTool('t', {});
    await expect(calls('tools/call')[0]?.hungUp).resolves.toBe(true);
  });

  it('follows a redirect within the origin, with the same body', async () => {
    const legacy = legacyServer(({ message }, response) => sendResult(response, message, { content: [] }));
    const { url } = await start((request, response) =>
      request.path === '/mcp'
        ? void response.writeHead(307, { location: '/mcp/' }).end()
        : legacy.script(request, response),
    );
    await expect(connect(url).callTool('t', {})).resolves.toEqual({ content: [] });
  });

  it('does not follow a redirect to another origin', async () => {
    const other = await startScripted((_request, response) => void response.writeHead(200).end());
    for (const location of [`${other.url}?x=1`, 'http://169.254.169.254/latest/meta-data/']) {
      const { url, close } = await startScripted(
        (_request, response) => void response.writeHead(307, { location }).end(),
      );
      const error = await failure(connect(url, { bearerToken: 'token' }).listTools());
      expect(error).toMatchObject({ kind: 'protocol', status: 307 });
      await close();
    }
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('answers only a few server requests at a time', async () => {
    const ping = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 'p', method: 'ping' })}\n\n`;
    const legacy = legacyServer(({ message }, response) => {
      const answer = `data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ping.repeat(2_000) + answer);
    });
    const { url, requests } = await start((request, response) => {
      // The answers to the pings stay pending.
      if (request.method === 'POST' && request.message.method === undefined) return undefined;
      return legacy.script(request, response);
    });
    await connect(url).callTool('t', {});
    expect(
      requests.filter(({ message, method }) => method === 'POST' && message.method === undefined).length,
    ).toBeLessThanOrEqual(16);
  });

  const endless =
    (contentType: string, text: string, status = 200): Script =>
    (_request, response) => {
      const chunk = text.repeat(64 * 1024);
      response.writeHead(status, { 'content-type': contentType });
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk)) continue;
      };
      response.on('drain', pour);
      pour();
    };

  it.each<[name: string, script: Script, kind: UpstreamErrorKind, words: string]>([
    [
      '401',
      (_, response) => void response.writeHead(401).end('SECRET'),
      'unauthorized',
      'answered 401: the stored credential',
    ],
    ['403', (_, response) => void response.writeHead(403).end('SECRET'), 'unauthorized', 'answered 403'],
    ['500', (_, response) => void response.writeHead(500).end('SECRET'), 'unreachable', 'answered 500'],
    [
      'a web page',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>SECRET'),
      'protocol',
      'does not speak MCP: it answered 200 text/html',
    ],
    ['404 without MCP', (_, response) => void response.writeHead(404).end('SECRET'), 'protocol', 'no MCP endpoint'],
    [
      'malformed JSON of its own',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"SECRET'),
      'protocol',
      'malformed JSON',
    ],
    ['JSON that is not JSON-RPC', (_, response) => sendJson(response, { SECRET: 1 }), 'protocol', 'not JSON-RPC 2.0'],
    ['a hang', () => undefined, 'timeout', 'did not answer within 1500 ms'],
    ['a reset', (_, response) => void response.destroy(), 'unreachable', 'closed the connection'],
    ['text without end', endless('text/plain', 'x'), 'protocol', 'answered 200 text/plain'],
    ['an error without end', endless('text/plain', 'x', 500), 'unreachable', 'answered 500'],
  ])('explains a server that answers everything with %s', async (_name, script, kind, words) => {
    const { url } = await start(script);
    // Servers that answer have enough time, even on a busy machine.
    const timeoutMs = kind === 'timeout' ? 1_500 : 20_000;
    const error = await failure(connect(url, { bearerToken: 'SECRET', timeoutMs }).listTools());
    expect(error).toMatchObject({ kind, message: expect.stringContaining(words) });
    expect(`${error.message} ${error.stack}`).not.toContain('SECRET');
  });

  it.each<[name: string, script: Script, kind: UpstreamErrorKind, words: string]>([
    ['JSON without end', endless('application/json', ' '), 'protocol', 'more than the service accepts'],
    ['an event without end', endless('text/event-stream', 'x'), 'protocol', 'more than the service accepts'],
    ['events without end', endless('text/event-stream', ': hello\n\n'), 'protocol', 'more than 33554432 bytes'],
    [
      'the response to another request',
      (_, response) => sendJson(response, { jsonrpc: '2.0', id: 999, result: { content: [] } }),
      'protocol',
      'without a response to the request',
    ],
    [
      'a stream without response',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n'),
      'protocol',
      'without a response to the request',
    ],
    [
      'an empty 202',
      (_, response) => void response.writeHead(202).end(),
      'protocol',
      'without a response to the request',
    ],
    [
      'a stream that breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
        setTimeout(() => response.destroy(), 20);
      },
      'unreachable',
      'closed the connection',
    ],
    [
      'an invalid result',
      ({ message }, response) => sendResult(response, message, { content: 'SECRET' }),
      'protocol',
      'does not fit',
    ],
    [
      'a JSON-RPC error',
      ({ message }, response) =>
        sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32000, message: 'SECRET' } }),
      'rpc',
      'JSON-RPC error -32000',
    ],
  ])('explains a server that answers a call with %s', async (_name, script, kind, words) => {
    const { url, calls } = await startLegacy(script);
    const error = await failure(connect(url).callTool('t', { secret: 'SECRET' }));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(words) });
    expect(`${error.message} ${error.stack}`).not.toContain('SECRET');
    expect(error.rpc?.message).toBe(kind === 'rpc' ? 'SECRET' : undefined);
    expect(calls('tools/call')).toHaveLength(1);
  });
});

describe('HttpUpstream and unreachable addresses', () => {
  it('explains a closed port and a name that does not exist', async () => {
    const gone = await startScripted(() => undefined);
    await gone.close();
    expect(await failure(connect(gone.url).listTools())).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('refused the connection'),
    });
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const dispatcher = new GuardedDispatcher(new AddressPolicy({ allowPrivate: false, allow: [] }), { resolve });
    expect(
      await failure(connect('https://nowhere.example/mcp', {}, new UpstreamSockets(dispatcher)).listTools()),
    ).toMatchObject({
      kind: 'unreachable',
      message: 'The upstream at nowhere.example:443 cannot be found: its name does not resolve.',
    });
    await dispatcher.destroy();
  });

  it('reports why the policy refuses an address', async () => {
    const policy = new AddressPolicy({ allowPrivate: false, allow: parseAllowList(['10.0.0.0/8']) });
    const dispatcher = new GuardedDispatcher(policy, {
      resolve: async () => [{ address: '169.254.169.254', family: 4 }],
    });
    expect(
      await failure(connect('http://127.0.0.1:1/mcp', {}, new UpstreamSockets(dispatcher)).listTools()),
    ).toMatchObject({
      kind: 'refused_address',
      message: 'The host 127.0.0.1 is a loopback address.',
    });
    expect(
      await failure(connect('http://harmless.example/mcp', {}, new UpstreamSockets(dispatcher)).listTools()),
    ).toMatchObject({
      kind: 'refused_address',
      message: 'The host harmless.example resolves to a metadata address.',
    });
    await dispatcher.destroy();
  });
});
