import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApp, type TestApp } from '../support/app.js';
import {
  callProxy,
  pathOf,
  type ProxyAnswer,
  type ProxyRequest,
  rpc,
  rpcOf,
  toolCall,
} from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';

const TOOLS = [
  {
    name: 'echo',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' }, deep: {} },
      additionalProperties: { type: 'string' },
    },
  },
  { name: 'strict', inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
];

let app: TestApp;
let upstream: ScriptedServer;
let path: string;
/** Is permitted to call only `echo`. */
let limited: string;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
    return sendResult(response, message, { content: [{ type: 'text', text: JSON.stringify(message.params) }] });
  });
  upstream = await startScripted(script);
  app = await startTestApp();
  const connectionId = await connectTo(app, upstream.url);
  path = pathOf(connectionId);
  limited = await keyWith(app, { [connectionId]: ['echo'] });
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

const send = (body: unknown, headers: Record<string, string> = {}, key = app.apiKey): Promise<ProxyAnswer> =>
  callProxy(app, path, { key, headers, body });

interface Refusal {
  status: number;
  rpc: number;
  code: string;
}

const MALFORMED: Refusal = { status: 400, rpc: -32700, code: 'malformed_json' };
const INVALID: Refusal = { status: 400, rpc: -32600, code: 'invalid_rpc_request' };
const MISMATCH: Refusal = { status: 400, rpc: -32020, code: 'header_mismatch' };

/** Expects a JSON-RPC error, and that the request did not reach the upstream. */
async function expectRefused(answer: Promise<ProxyAnswer>, refusal: Refusal): Promise<void> {
  const before = upstream.requests.length;
  const response = await answer;
  const { error, jsonrpc } = rpcOf(response);
  expect({ status: response.status, rpc: error?.code, code: error?.data.code, jsonrpc }).toEqual({
    ...refusal,
    jsonrpc: '2.0',
  });
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  expect(error?.data.request_id).toBe(response.headers['x-request-id']);
  expect(upstream.requests).toHaveLength(before);
}

const ECHO = '"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}';
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('a body that is not a message', () => {
  it.each<[string, string | Buffer, Refusal]>([
    ['nothing', '', MALFORMED],
    ['cut off', '{"jsonrpc":"2.0","id":1', MALFORMED],
    ['not JSON', 'hello', MALFORMED],
    ['a comma too many', `{"jsonrpc":"2.0","id":1,${ECHO},}`, MALFORMED],
    ['two messages', `{"jsonrpc":"2.0","id":1,${ECHO}}{"jsonrpc":"2.0","id":2,${ECHO}}`, MALFORMED],
    ['a byte order mark', `\ufeff{"jsonrpc":"2.0","id":1,${ECHO}}`, MALFORMED],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', MALFORMED],
    ['invalid UTF-8', Buffer.from(`{"jsonrpc":"2.0","id":"\xff",${ECHO}}`, 'latin1'), MALFORMED],
    ['an overlong form', Buffer.from(`{"jsonrpc":"2.0","id":"\xc0\xa2",${ECHO}}`, 'latin1'), MALFORMED],
    ['UTF-16', Buffer.from(`{"jsonrpc":"2.0","id":1,${ECHO}}`, 'utf16le'), MALFORMED],
    ['a batch', `[{"jsonrpc":"2.0","id":1,${ECHO}}]`, INVALID],
    ['an empty batch', '[]', INVALID],
    ['a string', '"tools/list"', INVALID],
    ['null', 'null', INVALID],
    ['no version', `{"id":1,${ECHO}}`, INVALID],
    ['version 1.0', `{"jsonrpc":"1.0","id":1,${ECHO}}`, INVALID],
    ['the version as a number', `{"jsonrpc":2.0,"id":1,${ECHO}}`, INVALID],
    ['no id', `{"jsonrpc":"2.0",${ECHO}}`, INVALID],
    ['an object as id', `{"jsonrpc":"2.0","id":{},${ECHO}}`, INVALID],
    ['an array as id', `{"jsonrpc":"2.0","id":[1],${ECHO}}`, INVALID],
    ['null as id', `{"jsonrpc":"2.0","id":null,${ECHO}}`, INVALID],
    ['true as id', `{"jsonrpc":"2.0","id":true,${ECHO}}`, INVALID],
    ['an infinite id', `{"jsonrpc":"2.0","id":1e999,${ECHO}}`, INVALID],
    ['an endless id', `{"jsonrpc":"2.0","id":"${'x'.repeat(1_000_000)}",${ECHO}}`, INVALID],
    ['no method', '{"jsonrpc":"2.0","id":1}', INVALID],
    ['a number as method', '{"jsonrpc":"2.0","id":1,"method":1}', INVALID],
    ['an empty method', '{"jsonrpc":"2.0","id":1,"method":""}', INVALID],
    ['a request that is an answer', `{"jsonrpc":"2.0","id":1,"result":{},${ECHO}}`, INVALID],
    ['a notification with an id', '{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}', INVALID],
    ['params as an array', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo"]}', INVALID],
    ['params as null', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}', INVALID],
    ['no name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', INVALID],
    ['an object as name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}', INVALID],
    ['65 levels', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nested(63)}}}`, INVALID],
    ['half a million levels', nested(500_000), INVALID],
    [
      'half a million levels inside',
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nested(500_000)}}}`,
      INVALID,
    ],
  ])('is refused: %s', (_title, body, refusal) => expectRefused(send(body), refusal));

  it.each(['{', '[', '"', '\\'])('is refused when it is a mebibyte of %j', async (character) => {
    const refusal = await send(character.repeat(1_048_576));
    expect(rpcOf(refusal).error?.code).toBe(-32700);
  });
});

describe('an ambiguous message', () => {
  const messageWith = (members: string): string => `{"jsonrpc":"2.0","id":1,${members}}`;
  const call = (params: string): string => messageWith(`"method":"tools/call","params":{${params}}`);

  it.each<[string, string]>([
    ['two methods', messageWith(`"method":"tools/list",${ECHO}`)],
    ['two ids', `{"jsonrpc":"2.0","id":1,"id":2,${ECHO}}`],
    ['two params', messageWith(`${ECHO},"params":{"name":"strict"}`)],
    ['two names', call('"name":"echo","name":"strict"')],
    ['two names, one escaped', call(String.raw`"name":"echo","n\u0061me":"strict"`)],
    ['two names, both escaped differently', call(String.raw`"\u006eame":"echo","n\u0061me":"strict"`)],
    ['Name next to name', call('"name":"echo","Name":"strict"')],
    ['Name instead of name', call('"Name":"strict"')],
    ['NAME, escaped', call(String.raw`"name":"echo","\u004eAME":"strict"`)],
    ['Arguments next to arguments', call('"name":"echo","arguments":{},"Arguments":{"text":1}')],
    ['argumentſ, which some raise to ARGUMENTS', call('"name":"echo","arguments":{},"argumentſ":{}')],
    ['Method next to method', messageWith(`${ECHO},"Method":"tools/list"`)],
    ['PARAMS next to params', messageWith(`${ECHO},"PARAMS":{"name":"strict"}`)],
    ['Id next to id', messageWith(`${ECHO},"Id":2`)],
    ['JsonRpc next to jsonrpc', messageWith(`${ECHO},"JsonRpc":"1.0"`)],
    ['the same key twice in the arguments', call('"name":"echo","arguments":{"text":"a","text":"b"}')],
    ['the same, escaped', call(String.raw`"name":"echo","arguments":{"text":"a","te\u0078t":"b"}`)],
    ['the same, deep in an array', call('"name":"echo","arguments":{"deep":[[{"a":1,"b":2,"a":3}]]}')],
    ['the same in _meta', call('"name":"echo","_meta":{"progressToken":1,"progressToken":2}')],
  ])('is refused: %s', (_title, body) => expectRefused(send(body), INVALID));

  it('passes when other keys of the arguments differ only in case', async () => {
    const body = call('"name":"echo","arguments":{"key":"a","Key":"b"}');
    const { result } = rpcOf(await send(body));
    expect(JSON.parse(result?.content?.[0]?.text ?? '')).toMatchObject({ arguments: { key: 'a', Key: 'b' } });
  });

  it('is forwarded byte for byte', async () => {
    const text = String.raw`"\u0061\/\ud83d\ude00 ü"`;
    const body = `\n{ "params" : {"arguments":{"text":${text}},"name":"\\u0065cho"} ,"id":\t-1.50e+1 , "method":"tools/call","jsonrpc":"2.0","more":[{}]}\r\n`;
    const answer = await send(body);
    expect(answer.text).toContain('"id":-1.50e+1');
    expect(JSON.parse(rpcOf(answer).result?.content?.[0]?.text ?? '')).toEqual({
      name: 'echo',
      arguments: { text: 'a/😀 ü' },
    });
  });
});

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

describe('the name of a tool', () => {
  const NAMES = ['ghost', 'echo\r\nx-injected: 1', '../strict', 'echo/../strict', 'ec\u0000ho', '\ud800', '__proto__'];
  const LONG = 'x'.repeat(100_000);

  it.each([...NAMES, 'toString', ' echo', 'ECHO', LONG])('that is not listed is unknown: %j', async (name) => {
    const answer = await send(toolCall(name));
    expect(answer.status).toBe(200);
    expect(rpcOf(answer).error).toMatchObject({ code: -32602, data: { code: 'unknown_tool' } });
    expect(answer.headers).not.toHaveProperty('x-injected');
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'unknown_tool' });
    expect(record?.tool_name.length).toBeLessThanOrEqual(256);
  });

  it.each([...NAMES, 'strict'])('that is not granted is refused: %j', async (name) => {
    const before = upstream.calls('tools/call').length;
    const answer = await send(toolCall(name), {}, limited);
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 403,
      code: 'permission_denied',
    });
    expect(upstream.calls('tools/call')).toHaveLength(before);
  });

  it.each(['../strict', '..%2fstrict', 'echo%0d%0ax-injected:%201', 'echo%00', 'echo%2f..%2fstrict', 'strict%20'])(
    'cannot leave the call-tool path: %s',
    async (name) => {
      const before = upstream.calls('tools/call').length;
      const answer = await callProxy(app, `${path}/call-tool/${name}`, { key: limited, body: {} });
      expect([403, 404]).toContain(answer.status);
      expect(answer.headers).not.toHaveProperty('x-injected');
      expect(upstream.calls('tools/call')).toHaveLength(before);
    },
  );
});

describe('a body that is too large', () => {
  const padded = (bytes: number): string => {
    const body = JSON.stringify(toolCall('echo', { text: '' }));
    return body.replace('"text":""', `"text":"${'x'.repeat(bytes - body.length)}"`);
  };

  it('passes with 1 MiB', async () => {
    const answer = await send(padded(1_048_576));
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({ status: 200, code: undefined });
  });

  it.each(['', '/call-tool/echo'])('is refused with one more byte%s', async (more) => {
    const before = upstream.requests.length;
    const request = { key: app.apiKey, headers: { connection: 'close' }, body: padded(1_048_577) };
    const answer = await callProxy(app, path + more, request);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('body_too_large');
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('arguments', () => {
  it.each<[string, unknown]>([
    ['of the wrong type', { n: 'one' }],
    ['that lack something', {}],
    ['that are an array', [1]],
    ['that are null', null],
    ['that are a string', 'n=1'],
  ])('are validated against the schema: %s', async (_title, args) => {
    const before = upstream.calls('tools/call').length;
    const answer = await send(rpc('tools/call', { name: 'strict', arguments: args }));
    expect(answer.status).toBe(200);
    expect(rpcOf(answer).error).toMatchObject({ code: -32602, data: { code: 'invalid_arguments' } });
    expect(upstream.calls('tools/call')).toHaveLength(before);
    expect(await auditOf(app, String(answer.headers['x-request-id']))).toMatchObject({
      status: 'error',
      error_code: 'invalid_arguments',
    });
  });

  it('are not quoted in the error', async () => {
    const { text } = await send(toolCall('strict', { n: 'a secret value' }));
    expect(text).not.toContain('secret');
  });
});

describe('a method', () => {
  const ofLimited = (method: string, params?: object): Promise<ProxyAnswer> => send(rpc(method, params), {}, limited);

  it.each(['tools/steal', 'rpc.discover', 'toString', 'tools/call\r\n', 'TOOLS/CALL'])(
    'that is unknown is refused: %j',
    async (method) => {
      const before = upstream.requests.length;
      const answer = await ofLimited(method);
      expect(answer.status).toBe(200);
      expect(rpcOf(answer).error).toMatchObject({ code: -32601, data: { code: 'unknown_method' } });
      expect(upstream.requests).toHaveLength(before);
    },
  );

  it.each(['resources/list', 'resources/read', 'prompts/get', 'prompts/list'])(
    'that does not concern tools needs its grant: %s',
    async (method) => {
      const answer = await ofLimited(method);
      expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
        status: 403,
        code: 'permission_denied',
      });
    },
  );

  it.each(['logging/setLevel', 'resources/subscribe', 'tasks/list'])('of a session needs a session: %s', (method) =>
    expectRefused(send(rpc(method)), INVALID),
  );

  it.each(['application/json', '*/*', '%_'])(
    'with an endless stream as its answer needs a caller that accepts streams, not %s',
    async (accept) => {
      const agent = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections: [] } });
      for (const endpoint of [path, pathOf(`gateway/${agent.body.item.id}`), pathOf('self')]) {
        const body = rpc('subscriptions/listen', { notifications: { toolsListChanged: true } });
        await expectRefused(callProxy(app, endpoint, { key: app.apiKey, headers: { accept }, body }), INVALID);
      }
    },
  );

  it('in an unknown version is refused', () =>
    expectRefused(send(rpc('tools/list'), { 'mcp-protocol-version': '1999-01-01' }), INVALID));
});

describe('the body of a call-tool request', () => {
  const call = (body: unknown, more: ProxyRequest = {}): Promise<ProxyAnswer> =>
    callProxy(app, `${path}/call-tool/echo`, { key: limited, body, ...more });

  it.each<[string, string]>([
    ['ends the envelope', '{}},"method":"tools/list","x":{"y":{}'],
    ['ends the params', '{},"name":"strict"'],
    ['ends the message', '{}}}{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ['is cut off', '{"text":"a"'],
    ['begins with a byte order mark', '\ufeff{}'],
    ['is white space', '  '],
  ])('is refused when it %s', async (_title, body) => {
    await expectRefused(call(body), MALFORMED);
  });

  it.each(['[]', '"text"', 'null', '1'])('is refused when it is not an object: %s', async (body) => {
    const answer = await call(body);
    expect(rpcOf(answer).error).toMatchObject({ code: -32602, data: { code: 'invalid_arguments' } });
  });

  it('is refused when it is not UTF-8', () => expectRefused(call(Buffer.from('{"text":"\xff"}', 'latin1')), MALFORMED));

  it('is refused when a key is duplicated', () => expectRefused(call('{"text":"a","te\\u0078t":"b"}'), INVALID));

  it('is refused when it is nested too deeply', () => expectRefused(call(`{"deep":${nested(63)}}`), INVALID));

  it('is always read as arguments', async () => {
    const answer = await call({ jsonrpc: '2.0', method: 'tools/call', name: 'strict' });
    const params = JSON.parse(rpcOf(answer).result?.content?.[0]?.text ?? '') as object;
    expect(params).toEqual({ name: 'echo', arguments: { jsonrpc: '2.0', method: 'tools/call', name: 'strict' } });
  });

  it('can be missing, which means no arguments', async () => {
    const answer = await call(undefined);
    expect(JSON.parse(rpcOf(answer).result?.content?.[0]?.text ?? '')).toEqual({ name: 'echo', arguments: {} });
  });

  it('ignores the tool that a header names', async () => {
    const answer = await call({}, { headers: { 'mcp-name': 'strict' } });
    expect(rpcOf(answer).error?.data.code ?? 'echo').toMatch(/^(echo|header_mismatch)$/);
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
    const onCallTool = { key: limited, headers: { origin }, body: {} };
    await expectRefused(callProxy(app, `${path}/call-tool/echo`, onCallTool), REFUSED);
    await expectRefused(callProxy(app, path, { key: limited, method: 'GET', headers: { origin } }), REFUSED);
    await expectRefused(callProxy(app, path, { key: limited, method: 'DELETE', headers: { origin } }), REFUSED);
  });

  it.each(['http://localhost:5173', 'http://127.0.0.1:1'])('of this machine is allowed: %s', async (origin) => {
    expect((await send(toolCall('echo'), { origin })).status).toBe(200);
  });

  it.each(['evil.example', 'evil.example:3000', '127.0.0.1.evil.example', 'localhost.evil.example:1'])(
    'with a name that was rebound to this machine is refused: %s',
    (host) => expectRefused(send(toolCall('echo'), { host }), REFUSED),
  );
});
