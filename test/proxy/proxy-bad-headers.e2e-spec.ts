import { describe, expect, it } from '@jest/globals';
import { callProxy, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { type Refusal, useBadInputProxy } from './proxy-bad-input.support.js';

const proxy = useBadInputProxy();
const { expectRefused, send } = proxy;

const MISMATCH: Refusal = { status: 400, rpc: -32020, code: 'header_mismatch' };

describe('a header that repeats the body', () => {
  const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

  it.each<[string, Record<string, string>]>([
    ['another method', { 'mcp-method': 'tools/list' }],
    ['another tool', { 'mcp-name': 'strict' }],
    ['another tool, encoded', { 'mcp-name': base64('strict') }],
    ['the tool in another case', { 'mcp-name': 'Echo' }],
    ['two tools', { 'mcp-name': 'echo, strict' }],
    ['nothing', { 'mcp-name': '' }],
    ['the encoding of nothing', { 'mcp-name': base64('') }],
    ['encoded twice', { 'mcp-name': base64(base64('echo')) }],
  ])('must not name %s', (_title, headers) => expectRefused(send(toolCall('echo'), headers), MISMATCH));

  it('must not name a tool if the body names none', () =>
    expectRefused(send(rpc('tools/list'), { 'mcp-name': 'echo' }), MISMATCH));

  it('must not name another version', () => {
    const params = { name: 'echo', _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    return expectRefused(send(rpc('tools/call', params), { 'mcp-protocol-version': '2025-11-25' }), MISMATCH);
  });

  it.each(['echo', base64('echo')])('can name the same: %s', async (name) => {
    const answer = await send(toolCall('echo'), { 'mcp-method': 'tools/call', 'mcp-name': name });
    expect(answer.status).toBe(200);
    expect(rpcOf(answer).result).toBeDefined();
  });
});

describe('a content type that is not JSON', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'is refused: %s',
    async (contentType) => {
      const answer = await send(toolCall('echo'), { 'content-type': contentType });
      expect(answer.status).toBe(415);
    },
  );
});

describe('a web page', () => {
  const REFUSED: Refusal = { status: 403, rpc: -32000, code: 'origin_refused' };

  it.each([
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'file://',
  ])('of another origin is refused: %s', async (origin) => {
    await expectRefused(send(toolCall('echo'), { origin }), REFUSED);
    const onCallTool = { key: proxy.limited, headers: { origin }, body: {} };
    await expectRefused(callProxy(proxy.app, `${proxy.path}/call-tool/echo`, onCallTool), REFUSED);
    await expectRefused(
      callProxy(proxy.app, proxy.path, { key: proxy.limited, method: 'GET', headers: { origin } }),
      REFUSED,
    );
    await expectRefused(
      callProxy(proxy.app, proxy.path, { key: proxy.limited, method: 'DELETE', headers: { origin } }),
      REFUSED,
    );
  });

  it.each(['http://localhost:5173', 'http://127.0.0.1:1'])('of this machine is allowed: %s', async (origin) => {
    expect((await send(toolCall('echo'), { origin })).status).toBe(200);
  });

  it.each(['evil.example', 'evil.example:3000', '127.0.0.1.evil.example', 'localhost.evil.example:1'])(
    'with a name that was rebound to this machine is refused: %s',
    (host) => expectRefused(send(toolCall('echo'), { host }), REFUSED),
  );
});
