import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { MonitoringLogItem } from '../../src/audit/monitoring.dto.js';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { openModernClient } from '../support/field-clients.js';
import { gatewayPath } from '../support/gateway-agents.js';
import { expectProblem } from '../support/problem.js';
import { callProxy, pathOf, rpc, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../support/scripted-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';

/** By then, every process has read the setting. */
const HEARD_MS = 1_000;
const PLANTED = 'Zq7Planted9Secret';
const ARGS = { text: 'hello', password: PLANTED, more: [{ 'API-Key': PLANTED }, `Bearer ${PLANTED}`] };
const REDACTED_ARGS = { text: 'hello', password: '***', more: [{ 'API-Key': '***' }, 'Bearer ***'] };
/** The upstream answers with its arguments as JSON text. */
const REDACTED_RESULT = { content: [{ type: 'text', text: JSON.stringify(REDACTED_ARGS) }] };
const LARGE = 'x'.repeat(300_000);
const HOSTILE = {
  'nul\0': '\0\ud800',
  text: '\\N\t\n\\.',
  deep: JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown,
};

const TOOLS: Record<string, (args: unknown) => object> = {
  echo: (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
  fail: (args) => ({ isError: true, content: [{ type: 'text', text: JSON.stringify(args) }] }),
  large: () => ({ content: [{ type: 'text', text: LARGE }] }),
  half_large: () => ({ content: [{ type: 'text', text: LARGE.slice(0, 30_000) }] }),
  hostile: () => HOSTILE,
};

let upstream: ScriptedServer;
let app: TestApp;
let other: Awaited<ReturnType<typeof startSecondOrganization>>;
let connection: string;
let agent: string;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method !== 'tools/call') {
      const inputSchema = { type: 'object', properties: { count: { type: 'number' } } };
      const names = [...Object.keys(TOOLS), 'echo_stream', 'large_stream', 'refuse', 'drop'];
      return sendResult(response, message, { tools: names.map((name) => ({ name, inputSchema })) });
    }
    const { name, arguments: args } = message.params as { name: string; arguments: unknown };
    if (name === 'drop') return void response.destroy();
    if (name === 'refuse') {
      const error = { code: -32050, message: `Not with password=${PLANTED}`, data: { password: PLANTED } };
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
    }
    const [tool = '', stream] = name === 'half_large' ? [name] : name.split('_');
    const result = TOOLS[tool]?.(args);
    return stream === undefined ? sendResult(response, message, result) : sendEvent(response, message, result);
  });
  upstream = await startScripted(script);
  app = await startTestApp();
  other = await startSecondOrganization(app.app, app.url, 'other');
  connection = await connectTo(app, upstream.url);
  agent = await createAgent(app, [connection]);
});
afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

function sendEvent(response: Parameters<typeof sendResult>[0], { id }: RpcMessage, result: unknown): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
}

async function record(content: boolean): Promise<void> {
  await succeed(app, 'AUDIT_SETTINGS_UPDATE', { content });
  await sleep(HEARD_MS);
}

/** Posts to an endpoint; returns the resulting record. */
async function recordOf(
  path: string,
  body: object,
  { key = app.apiKey, accept = 'application/json' } = {},
): Promise<MonitoringLogItem | undefined> {
  const requestId = randomUUID();
  await callProxy(app, path, { key, body, headers: { 'x-request-id': requestId, accept } });
  return auditOf(app, requestId);
}

async function latestOf(entryPoint: string): Promise<MonitoringLogItem | undefined> {
  const where = { field: ['door'], operator: 'eq', value: entryPoint };
  const page = await succeed<{ items: MonitoringLogItem[] }>(app, 'MONITORING_LOGS_LIST', { where, limit: 1 });
  return page.items[0];
}

/** Calls the tool `echo` through each entry point; returns the record of each call. */
const ENTRY_POINTS: Record<string, () => Promise<MonitoringLogItem | undefined>> = {
  'the proxy': () => recordOf(pathOf(connection), toolCall('echo', ARGS)),
  'the proxy, to a caller that takes streams': () =>
    recordOf(pathOf(connection), toolCall('echo_stream', ARGS), { accept: 'text/event-stream' }),
  'the proxy, out of a stream': () => recordOf(pathOf(connection), toolCall('echo_stream', ARGS)),
  'a legacy path': () => recordOf(`/mcp/${connection}`, toolCall('echo', ARGS)),
  'call-tool': () => recordOf(`${pathOf(connection)}/call-tool/echo`, ARGS),
  'the gateway': () => recordOf(gatewayPath(agent), toolCall('echo', ARGS)),
  'the gateway in the modern era': async () => {
    const client = await openModernClient({ url: `${app.url}${gatewayPath(agent)}`, apiKey: app.apiKey }, 'auto');
    await client.callTool('echo', ARGS);
    await client.close();
    return latestOf('gateway');
  },
  'a run': async () => {
    const thread = await ThreadClient.create(app, agent);
    await thread.ask(`/call echo ${JSON.stringify(ARGS)}`);
    return latestOf('run');
  },
};

async function rowsWith(condition: string): Promise<number> {
  const [row] = await app.app
    .get(DataSource)
    .query(`SELECT count(*)::int AS n FROM audit_records r WHERE ${condition}`);
  return row.n as number;
}

describe('with content recording off', () => {
  it.each(Object.entries(ENTRY_POINTS))('arguments and results are not recorded: %s', async (_entryPoint, call) => {
    expect(await call()).toMatchObject({
      tool_name: expect.stringMatching(/^echo/),
      status: 'success',
      arguments: null,
      result: null,
    });
  });

  it('no row contains any content', async () => {
    await recordOf('/api/default/mcp/self', toolCall('MODEL_TIERS_GET'));
    expect(await latestOf('self')).toMatchObject({ tool_name: 'MODEL_TIERS_GET', arguments: null, result: null });
    expect(await rowsWith('arguments IS NOT NULL OR result IS NOT NULL')).toBe(0);
    expect(await rowsWith(`r::text LIKE '%hello%' OR r::text LIKE '%${PLANTED}%'`)).toBe(0);
  });
});

describe('with content recording on', () => {
  beforeAll(() => record(true));
  afterAll(() => record(false));

  it.each(Object.entries(ENTRY_POINTS))(
    'arguments and results are recorded without secrets: %s',
    async (_entryPoint, call) => {
      expect(await call()).toMatchObject({ status: 'success', arguments: REDACTED_ARGS, result: REDACTED_RESULT });
    },
  );

  it('the caller and the upstream get the unredacted content', async () => {
    const before = upstream.calls('tools/call').length;
    const answer = await callProxy(app, pathOf(connection), { key: app.apiKey, body: toolCall('echo', ARGS) });
    expect(answer.text).toContain(PLANTED);
    expect(upstream.calls('tools/call').slice(before)[0]?.message.params?.['arguments']).toEqual(ARGS);
  });

  it.each([
    [
      'a tool that failed',
      'fail',
      ARGS,
      { status: 'error', error_code: 'tool_error', result: { isError: true, ...REDACTED_RESULT } },
    ],
    [
      'a JSON-RPC error',
      'refuse',
      ARGS,
      { error_code: 'tool_error', result: { error: { code: -32050, message: 'Not with password=***' } } },
    ],
    ['an upstream that closes the connection', 'drop', ARGS, { status: 'error', result: null }],
    ['an unknown tool', 'unknown', ARGS, { error_code: 'unknown_tool', result: null }],
    ['invalid arguments', 'echo', { ...ARGS, count: 'x' }, { error_code: 'invalid_arguments', result: null }],
    ['a large result', 'half_large', {}, { status: 'success', result: { truncated: true, bytes: 30_039 } }],
    ['a result beyond the capture limit', 'large', {}, { status: 'success', result: { truncated: true } }],
    [
      'a streamed result beyond the capture limit',
      'large_stream',
      {},
      { status: 'success', result: { truncated: true } },
    ],
    ['large arguments', 'echo', { text: LARGE }, { arguments: { truncated: true, bytes: 300_011 } }],
  ] as const)('records %s', async (_what, tool, args, expected) => {
    const headers = { accept: 'application/json, text/event-stream' };
    const item = await recordOf(pathOf(connection), toolCall(tool, args), headers);
    const shown =
      'text' in args && args.text === LARGE ? {} : { arguments: { ...args, ...('password' in args && REDACTED_ARGS) } };
    expect(item).toMatchObject({ tool_name: tool, ...shown, ...expected });
  });

  it('records no arguments for a call without arguments', async () => {
    expect(await recordOf(pathOf(connection), rpc('tools/call', { name: 'echo' }))).toMatchObject({ arguments: {} });
  });

  it.each(['proxy', 'gateway'])('a denied call is recorded: %s', async (entryPoint) => {
    const key = await keyWith(app, { [connection]: ['fail'], [agent]: ['fail'] });
    const path = entryPoint === 'proxy' ? pathOf(connection) : gatewayPath(agent);
    for (const tool of ['echo', 'unknown']) {
      expect(await recordOf(path, toolCall(tool, ARGS), { key })).toMatchObject({
        door: entryPoint,
        status: 'denied',
        arguments: REDACTED_ARGS,
        result: null,
      });
    }
  });

  it('management tools called over MCP are recorded without the keys that they create or receive', async () => {
    const permissions = { self: ['RUN_GET'] };
    await recordOf('/api/default/mcp/self', toolCall('API_KEY_CREATE', { name: 'made', permissions }));
    expect(await latestOf('self')).toMatchObject({ arguments: { name: 'made' }, result: { name: 'made', key: '***' } });
    const data = {
      title: 'Made',
      connection_type: 'HTTP',
      connection_url: upstream.url,
      connection_token: PLANTED,
      connection_headers: { headers: { 'x-anything': PLANTED } },
    };
    await recordOf('/api/default/mcp/self', toolCall('COLLECTION_CONNECTIONS_CREATE', { data }));
    expect(await latestOf('self')).toMatchObject({
      status: 'success',
      arguments: { data: { title: 'Made', connection_token: '***', connection_headers: '***' } },
      result: { item: { title: 'Made' } },
    });
    await recordOf('/api/default/mcp/self', toolCall('RUN_GET', { id: 7 }));
    expect(await latestOf('self')).toMatchObject({ arguments: { id: 7 }, result: { code: 'invalid_request' } });
  });

  it('no row contains a secret', async () => {
    expect(
      await rowsWith(`r::text LIKE '%${PLANTED}%' OR r::text LIKE '%${app.apiKey}%' OR r::text ~ 'sbx_\\w{20}'`),
    ).toBe(0);
    expect(await rowsWith(`r::text LIKE '%hello%'`)).toBeGreaterThan(10);
  });

  it('content that PostgreSQL rejects breaks neither its own record nor concurrent ones', async () => {
    const bodies = Array.from({ length: 40 }, (_, n) =>
      toolCall(n % 2 === 0 ? 'hostile' : 'echo', n % 2 === 0 ? HOSTILE : ARGS),
    );
    const items = await Promise.all(bodies.map((body) => recordOf(pathOf(connection), body)));
    const kept = { 'nul\ufffd': '\ufffd\ufffd', text: '\\N\t\n\\.', deep: HOSTILE.deep };
    for (const [n, item] of items.entries()) {
      const expected =
        n % 2 === 0 ? { arguments: kept, result: kept } : { arguments: REDACTED_ARGS, result: REDACTED_RESULT };
      expect(item).toMatchObject({ status: 'success', ...expected });
    }
  });

  it('the setting does not affect another organization', async () => {
    const { key } = (await other.tool('API_KEY_CREATE', { name: 'x', permissions: { '*': ['*'] } }).expect(200)).body;
    const data = { title: 'Upstream', connection_type: 'HTTP', connection_url: upstream.url };
    const made = await other.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
    await callProxy(app, `/api/other/mcp/${made.body.item.id}`, { key, body: toolCall('echo', ARGS) });
    const { body } = await other.tool('MONITORING_LOGS_LIST', {}).expect(200);
    expect(body.items).toEqual([
      expect.objectContaining({ tool_name: 'echo', status: 'success', arguments: null, result: null }),
    ]);
    expect((await other.tool('AUDIT_SETTINGS_GET', {}).expect(200)).body).toEqual({ content: false });
  });
});

describe('the setting', () => {
  it('is returned as set and takes effect within a second, on and off', async () => {
    for (const content of [true, false, true, false]) {
      expect(await succeed(app, 'AUDIT_SETTINGS_UPDATE', { content })).toEqual({ content });
      expect(await succeed(app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content });
      await sleep(HEARD_MS);
      const expected = content ? { arguments: REDACTED_ARGS } : { arguments: null, result: null };
      for (const call of [ENTRY_POINTS['the proxy'], ENTRY_POINTS['a run']])
        expect(await call?.()).toMatchObject(expected);
    }
  });

  it.each([[{}], [{ content: 'true' }], [{ content: null }], [{ content: 1 }], [{ content: true, more: 1 }]])(
    'refuses %j',
    async (input) => {
      const problem = expectProblem(await app.tool('AUDIT_SETTINGS_UPDATE', input), 400, 'invalid_request');
      expect(problem.errors).toHaveLength(1);
      expect(await succeed(app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content: false });
    },
  );

  it.each(['AUDIT_SETTINGS_GET', 'AUDIT_SETTINGS_UPDATE'])('%s requires its permission', async (name) => {
    const self = ['AUDIT_SETTINGS_GET', 'AUDIT_SETTINGS_UPDATE', 'MONITORING_LOGS_LIST'].filter(
      (tool) => tool !== name,
    );
    const key = await keyWith(app, { self });
    expectProblem(await app.tool(name, { content: true }, key), 403, 'permission_denied');
    expect(await succeed(app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content: false });
  });

  it('cannot be used in a filter, nor can arguments and results', async () => {
    for (const field of ['arguments', 'result']) {
      const where = { field: [field], operator: 'eq', value: 'x' };
      expectProblem(await app.tool('MONITORING_LOGS_LIST', { where }), 400, 'invalid_request');
    }
  });
});
