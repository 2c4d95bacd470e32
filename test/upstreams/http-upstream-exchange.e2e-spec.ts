import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../src/core/domain-error.js';
import { legacyServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { failure, useHttpUpstreams, useScriptedServer } from './http-upstream.support.js';

const connect = useHttpUpstreams();

describe('HttpUpstream against a scripted server', () => {
  const { start, startLegacy } = useScriptedServer();

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

  it('waits for room before it reads the rest of a large list', async () => {
    const tool = { name: 't', description: 'x'.repeat(128 * 1024), inputSchema: { type: 'object' } };
    const { url } = await startLegacy(({ message }, response) => sendResult(response, message, { tools: [tool] }));
    const entered: number[] = [];
    const reserve = (): void => undefined;
    const room = { enter: async (bytes: number) => void entered.push(bytes), reserve };
    await expect(connect(url).listTools({ room })).resolves.toEqual([tool]);
    expect(entered[0]).toBeGreaterThan(128 * 1024);
    const exhausted = { enter: () => Promise.reject(new DomainError('answer_memory_exhausted')), reserve };
    expect(await failure(connect(url).listTools({ room: exhausted }))).toMatchObject({ kind: 'busy' });
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

  it('does not follow a redirect within the origin', async () => {
    const { url, requests } = await start((_request, response) => {
      response.writeHead(307, { location: '/mcp/' }).end();
    });
    expect(await failure(connect(url).callTool('t', {}))).toMatchObject({ kind: 'protocol', status: 307 });
    expect(requests.map(({ path }) => path)).not.toContain('/mcp/');
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
});
