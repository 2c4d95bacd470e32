import { describe, expect, it } from '@jest/globals';
import { AddressPolicy, parseAllowList } from '../../src/platform/net/address-policy.js';
import { GuardedDispatcher } from '../../src/platform/net/guarded-dispatcher.js';
import type { UpstreamErrorKind } from '../../src/upstreams/contract/upstream-error.js';
import { UpstreamSockets } from '../../src/upstreams/sockets/upstream-sockets.js';
import { sendJson, sendResult, startScripted, type Script } from '../support/scripted-upstream.js';
import { failure, useHttpUpstreams, useScriptedServer } from './http-upstream.support.js';

const connect = useHttpUpstreams();

describe('HttpUpstream against a scripted server', () => {
  const { start, startLegacy } = useScriptedServer();

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
      message:
        'The host 127.0.0.1 is a loopback address. The operator of the service can allow it with UPSTREAM_ALLOW.',
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
