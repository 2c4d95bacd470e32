import { describe, expect, it } from '@jest/globals';
import {
  callProxy,
  pathOf,
  type ProxyAnswer,
  type ProxyRequest,
  rpc,
  rpcOf,
  toolCall,
} from '../support/proxy-calls.js';
import { modernRequest } from '../support/era-clients.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { NOBODY } from '../support/model-tools.js';
import { auditOf, connectTo } from '../support/proxy-connections.js';
import { legacyServer, startScripted } from '../support/scripted-upstream.js';
import { INVALID, MALFORMED, nested, useBadInputProxy } from './proxy-bad-input.support.js';

const proxy = useBadInputProxy();
const { expectRefused, send } = proxy;

/** The result of a call whose arguments do not validate (SEP-1303). */
const REFUSED = {
  isError: true,
  content: [{ type: 'text', text: expect.stringMatching(/^(The arguments|The body) .*\.$/) }],
  _meta: { 'mcp.service': { code: 'invalid_arguments' } },
};
const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});
const FAULTY = { odd: 1, color: 'green' };

describe('the name of a tool', () => {
  const NAMES = ['ghost', 'echo\r\nx-injected: 1', '../strict', 'echo/../strict', 'ec\u0000ho', '\ud800', '__proto__'];
  const LONG = 'x'.repeat(100_000);

  it.each([...NAMES, 'toString', ' echo', 'ECHO', LONG])('that is not listed is unknown: %j', async (name) => {
    const answer = await send(toolCall(name));
    expect(answer.status).toBe(200);
    expect(rpcOf(answer).error).toMatchObject({ code: -32602, data: { code: 'unknown_tool' } });
    expect(answer.headers).not.toHaveProperty('x-injected');
    const record = await auditOf(proxy.app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'unknown_tool' });
    expect(record?.tool_name.length).toBeLessThanOrEqual(256);
  });

  it('that is mistyped gets a suggestion', async () => {
    const { error } = rpcOf(await send(toolCall('stritc')));
    expect(error?.message).toBe('The connection has no tool with this name. Did you mean strict?');
  });

  it.each([...NAMES, 'strict'])('that is not granted is refused: %j', async (name) => {
    const before = proxy.upstream.calls('tools/call').length;
    const answer = await send(toolCall(name), {}, proxy.limited);
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 403,
      code: 'permission_denied',
    });
    expect(proxy.upstream.calls('tools/call')).toHaveLength(before);
  });

  it.each(['../strict', '..%2fstrict', 'echo%0d%0ax-injected:%201', 'echo%00', 'echo%2f..%2fstrict', 'strict%20'])(
    'cannot leave the call-tool path: %s',
    async (name) => {
      const before = proxy.upstream.calls('tools/call').length;
      const answer = await callProxy(proxy.app, `${proxy.path}/call-tool/${name}`, { key: proxy.limited, body: {} });
      expect([403, 404]).toContain(answer.status);
      expect(answer.headers).not.toHaveProperty('x-injected');
      expect(proxy.upstream.calls('tools/call')).toHaveLength(before);
    },
  );
});

describe('arguments', () => {
  it.each<[string, unknown]>([
    ['of the wrong type', { n: 'one' }],
    ['that lack something', {}],
    ['that are an array', [1]],
    ['that are null', null],
    ['that are a string', 'n=1'],
  ])('are validated against the schema: %s', async (_title, args) => {
    const before = proxy.upstream.calls('tools/call').length;
    const answer = await send(rpc('tools/call', { name: 'strict', arguments: args }));
    expect(answer.status).toBe(200);
    expect(rpcOf(answer)).toMatchObject({ id: 1, result: REFUSED });
    expect(proxy.upstream.calls('tools/call')).toHaveLength(before);
    expect(await auditOf(proxy.app, String(answer.headers['x-request-id']))).toMatchObject({
      status: 'error',
      error_code: 'invalid_arguments',
    });
  });

  it.each<[string, (agent: string) => ProxyRequest & { path: string }]>([
    ['a connection', () => ({ path: proxy.path, body: toolCall('form', FAULTY) })],
    [
      'a legacy path',
      () => ({ path: proxy.path.replace(`/api/${proxy.app.org}`, ''), body: toolCall('form', FAULTY) }),
    ],
    ['call-tool', () => ({ path: `${proxy.path}/call-tool/form`, body: FAULTY })],
    ['an agent', (agent) => ({ path: pathOf(proxy.app, agent), body: toolCall('form', FAULTY) })],
    [
      'a connection, in the modern era',
      () => ({ path: proxy.path, ...modernRequest('tools/call', { name: 'form', arguments: FAULTY }) }),
    ],
    [
      'an agent, in the modern era',
      (agent) => ({
        path: pathOf(proxy.app, agent),
        ...modernRequest('tools/call', { name: 'form', arguments: FAULTY }),
      }),
    ],
  ])('that do not validate are a result that names every fault for a model: %s', async (_title, callOf) => {
    const agent = await agentOf(proxy.app, [proxy.connectionId]);
    const { path, ...call } = callOf(agent);
    const { status, text } = await callProxy(proxy.app, path, { key: proxy.app.apiKey, ...call });
    const { result } = rpcOf({ text });
    expect(status).toBe(200);
    expect(result).toMatchObject(REFUSED);
    expect(result?.['resultType']).toBe('headers' in call ? 'complete' : undefined);
    expect(result?.content?.[0]?.text).toBe(
      "The arguments do not match the tool's input schema: arguments.name is required; " +
        'arguments.odd is not accepted; arguments.color must be one of "red", "blue".',
    );
  });

  it('that do not validate fail a call as a task with an error, because its client reads only a task', async () => {
    const { error } = rpcOf(await send(rpc('tools/call', { name: 'strict', arguments: {}, task: {} })));
    expect(error).toMatchObject({ code: -32602, data: { code: 'invalid_arguments', errors: [{ path: 'n' }] } });
  });

  it('may lack a required property that has a default', async () => {
    const { status, text } = await send(toolCall('form', { name: 'a' }));
    expect([status, rpcOf({ text }).result?.isError]).toEqual([200, undefined]);
    expect(proxy.upstream.calls('tools/call').at(-1)?.message.params).toEqual({
      name: 'form',
      arguments: { name: 'a' },
    });
  });

  it('are not quoted in the error', async () => {
    const { text } = await send(toolCall('strict', { n: 'a secret value' }));
    expect(text).not.toContain('secret');
  });
});

describe('HEAD', () => {
  it('is answered like GET, without a body', async () => {
    const agent = await agentOf(proxy.app, [proxy.connectionId]);
    const opened = await send(INITIALIZE);
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const paths = [
      proxy.path,
      proxy.path.replace(`/api/${proxy.app.org}`, ''),
      pathOf(proxy.app, 'self'),
      gatewayPath(proxy.app, agent),
      pathOf(proxy.app, NOBODY),
    ];
    const cases = paths.flatMap((path) => [{ path }, { path, key: proxy.app.apiKey }, { path, key: 'sbx_wrong' }]);
    for (const { path, ...call } of [...cases, { path: proxy.path, key: proxy.app.apiKey, headers: session }]) {
      const head = await callProxy(proxy.app, path, { method: 'HEAD', ...call });
      if ('headers' in call) {
        expect([head.status, head.headers['content-type']]).toEqual([200, 'text/event-stream']);
        expect(proxy.upstream.requests.filter(({ method }) => method === 'GET')).toEqual([]);
        continue;
      }
      const get = await callProxy(proxy.app, path, { method: 'GET', ...call });
      const told = ({ status, headers }: ProxyAnswer) => [
        path,
        status,
        headers['www-authenticate'],
        headers['allow'],
        headers['content-type'],
      ];
      expect(told(head)).toEqual(told(get));
      expect([head.text, get.status]).not.toContain(200);
    }
  });
});

describe('a conflict at the upstream', () => {
  it('stays one', async () => {
    const { script } = legacyServer((_request, response) => void response.writeHead(409).end('{"error":"busy"}'));
    const inUse = { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Only one stream' } };
    const server = await startScripted((request, response) => {
      if (request.method !== 'GET') return script(request, response);
      return void response.writeHead(409, { 'content-type': 'application/json' }).end(JSON.stringify(inUse));
    });
    try {
      const path = pathOf(proxy.app, await connectTo(proxy.app, server.url));
      const call = { key: proxy.app.apiKey };
      const opened = await callProxy(proxy.app, path, { ...call, body: INITIALIZE });
      const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']), accept: 'text/event-stream' };
      const listening = await callProxy(proxy.app, path, { ...call, method: 'GET', headers });
      expect([listening.status, rpcOf(listening).error?.data.code]).toEqual([409, 'conflict']);
      const asked = await callProxy(proxy.app, path, { ...call, headers, body: rpc('prompts/list') });
      expect([asked.status, rpcOf(asked).error?.message]).toEqual([409, expect.stringContaining('answered 409')]);
    } finally {
      await server.close();
    }
  });
});

describe('a method', () => {
  const ofLimited = (method: string, params?: object): Promise<ProxyAnswer> =>
    send(rpc(method, params), {}, proxy.limited);

  it.each(['tools/steal', 'rpc.discover', 'toString', 'tools/call\r\n', 'TOOLS/CALL'])(
    'that is unknown is refused: %j',
    async (method) => {
      const before = proxy.upstream.requests.length;
      const answer = await ofLimited(method);
      expect(answer.status).toBe(200);
      expect(rpcOf(answer).error).toMatchObject({ code: -32601, data: { code: 'unknown_method' } });
      expect(proxy.upstream.requests).toHaveLength(before);
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
      const agent = await proxy.app.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
        data: { title: 'Agent', connections: [] },
      });
      for (const endpoint of [
        proxy.path,
        pathOf(proxy.app, `gateway/${agent.body.item.id}`),
        pathOf(proxy.app, 'self'),
      ]) {
        const body = rpc('subscriptions/listen', { notifications: { toolsListChanged: true } });
        await expectRefused(
          callProxy(proxy.app, endpoint, { key: proxy.app.apiKey, headers: { accept }, body }),
          INVALID,
        );
      }
    },
  );

  it('in an unknown version is refused', () =>
    expectRefused(send(rpc('tools/list'), { 'mcp-protocol-version': '1999-01-01' }), INVALID));
});

describe('the body of a call-tool request', () => {
  const call = (body: unknown, more: ProxyRequest = {}): Promise<ProxyAnswer> =>
    callProxy(proxy.app, `${proxy.path}/call-tool/echo`, { key: proxy.limited, body, ...more });

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
    expect(rpcOf(answer).result).toMatchObject(REFUSED);
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
