import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MODERN, modernRequest } from '../../support/era-clients.js';
import { type EraServer, startEraServer } from '../../support/era-server.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import {
  legacyServer,
  type ScriptedServer,
  sendJson,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../../support/scripted-upstream.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const PROGRAM = fileURLToPath(new URL('../../support/stdio-fixtures/slow-server.mjs', import.meta.url));
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const NO_METHOD = { code: -32601, message: 'Method not found' };

let app: Tenant;
let folder: string;
let legacy: ScriptedServer;
let modern: EraServer;
/** Each endpoint of the service, by what answers there. */
let paths: Record<string, string>;
/** A tool that each endpoint offers. */
let tools: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'modern-statuses-'));
  app = await newTenant();
  modern = await startEraServer();
  legacy = await startScripted(
    legacyServer(({ message, headers }, response) => {
      const isStream = String(headers.accept).includes('text/event-stream');
      const error = { jsonrpc: '2.0', id: message.id, error: NO_METHOD };
      if (message.method === 'tools/list')
        sendResult(response, message, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
      else if (message.method === 'tools/call') sendResult(response, message, { content: [] });
      // As the SDK's server answers, whose errors are events with the status 200.
      else if (isStream) response.writeHead(200, SSE_TYPE).end(`event: message\ndata: ${JSON.stringify(error)}\n\n`);
      else sendJson(response, error);
    }).script,
  );
  const connections = {
    'a legacy server': await connectTo(app, legacy.url),
    'a modern server': await connectTo(app, modern.url),
    'a legacy program': await connectProgram(app, [PROGRAM, join(folder, 'legacy')]),
    'a modern program': await connectProgram(app, [PROGRAM, join(folder, 'modern'), '--modern']),
  };
  paths = { self: `/api/${app.org}/mcp/self` };
  tools = { self: 'API_KEY_LIST' };
  for (const [title, id] of Object.entries(connections)) {
    paths[title] = pathOf(app, id);
    paths[`an agent over ${title}`] = gatewayPath(app, await agentOf(app, [id]));
    const tool = title.endsWith('server') ? 'echo' : 'slow';
    Object.assign(tools, { [title]: tool, [`an agent over ${title}`]: tool });
  }
});
afterAll(async () => {
  await app?.close();
  await legacy?.close();
  await modern?.close();
  await rm(folder, { recursive: true, force: true });
});

const EVERYWHERE = ['server', 'program'].flatMap((kind) =>
  ['legacy', 'modern'].flatMap((era) => [`a ${era} ${kind}`, `an agent over a ${era} ${kind}`]),
);

/** Sends a modern request with another `_meta`. */
function sendWith(
  at: string,
  method: string,
  params: Record<string, unknown>,
  change: (meta: Record<string, unknown>) => unknown = (meta) => meta,
  key = app.apiKey,
): Promise<ProxyAnswer> {
  const { headers, body } = modernRequest(method, params);
  const request = structuredClone(body) as { params: Record<string, unknown> };
  request.params['_meta'] = change(request.params['_meta'] as Record<string, unknown>);
  return callProxy(app, paths[at] ?? '', { key, headers, body: request });
}
const refusalOf = (answer: ProxyAnswer): object => ({ status: answer.status, code: rpcOf(answer).error?.code });

describe.each(['self', ...EVERYWHERE])('a modern request with an incomplete envelope, at %s', (at) => {
  it.each<[string, (meta: Record<string, unknown>) => unknown]>([
    ['no capabilities', ({ [CAPABILITIES]: _left, ...rest }) => rest],
    ['capabilities that are a list', (meta) => ({ ...meta, [CAPABILITIES]: [] })],
    ['no version', ({ [VERSION]: _left, ...rest }) => rest],
    ['a version that is a number', (meta) => ({ ...meta, [VERSION]: 20260728 })],
    ['no `_meta`', () => undefined],
  ])('is refused with 400 and -32602: %s', async (_fault, change) => {
    for (const [method, params] of [
      ['tools/call', { name: tools[at], arguments: { message: 'x' } }],
      ['tools/list', {}],
      ['server/discover', {}],
    ] as const) {
      const answer = await sendWith(at, method, params, change);
      expect({ method, ...refusalOf(answer) }).toEqual({ method, status: 400, code: -32602 });
    }
  });
});

it('a modern request without its headers is recognized by any version in the body', async () => {
  const { body } = modernRequest('tools/list');
  const request = structuredClone(body) as { params: { _meta: Record<string, unknown> } };
  request.params._meta[VERSION] = 7;
  const answer = await callProxy(app, paths['a legacy server'] ?? '', { key: app.apiKey, body: request });
  expect(refusalOf(answer)).toEqual({ status: 400, code: -32602 });
  expect(rpcOf(answer).error?.data.code).toBe('invalid_envelope');
});

it('a client with capabilities has to name the revision too, before it is sent to the legacy era', async () => {
  const missing = await sendWith('a legacy program', 'server/discover', {}, () => ({ [CAPABILITIES]: { roots: {} } }));
  expect(refusalOf(missing)).toEqual({ status: 400, code: -32602 });
  const complete = await sendWith('a legacy program', 'server/discover', {}, () => ({
    [VERSION]: MODERN,
    [CAPABILITIES]: { tasks: {} },
  }));
  expect(refusalOf(complete)).toEqual({ status: 404, code: -32601 });
});

describe('an error of an upstream that has no status for it', () => {
  it.each(['a modern program', 'an agent over a modern program'])(
    'has the status of its code: a capability that the client lacks, at %s',
    async (at) => {
      const limited = await keyWith(app, { '*': ['asks'] });
      for (const key of [app.apiKey, limited]) {
        const answer = await sendWith(at, 'tools/call', { name: 'asks', arguments: {} }, undefined, key);
        expect(refusalOf(answer)).toEqual({ status: 400, code: -32021 });
        expect(answer.headers['content-type']).toContain('application/json');
        expect(rpcOf(answer).id).toBe(1);
      }
    },
  );

  it.each(['a legacy server', 'a legacy program', 'a modern program'])(
    'has the status of its code: an unknown method, at %s',
    async (at) => {
      const answer = await sendWith(at, 'resources/list', {});
      expect(refusalOf(answer)).toEqual({ status: 404, code: -32601 });
      expect(rpcOf(answer).error).toMatchObject({ message: expect.stringContaining('ethod') });
    },
  );

  it('keeps the status 200 for clients of the legacy era', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/list' };
    const answer = await callProxy(app, paths['a legacy server'] ?? '', { key: app.apiKey, body });
    expect(refusalOf(answer)).toEqual({ status: 200, code: -32601 });
  });
});
