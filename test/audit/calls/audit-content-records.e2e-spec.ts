import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeed } from '../../support/agent-runs.js';
import { gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, rpc, toolCall } from '../../support/proxy-calls.js';
import { auditOf, keyWith } from '../../support/proxy-connections.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { ARGS, HEARD_MS, HOSTILE, LARGE, PLANTED, REDACTED_ARGS, useAuditedApp } from './audit-content.support.js';

/** The upstream answers with its arguments as JSON text. */
const REDACTED_RESULT = { content: [{ type: 'text', text: JSON.stringify(REDACTED_ARGS) }] };

const setUp = useAuditedApp();
const { entryPoints, latestOf, recordOf } = setUp;
let other: Awaited<ReturnType<typeof startSecondOrganization>>;

beforeAll(async () => {
  other = await startSecondOrganization(setUp.app, 'other');
});

async function record(content: boolean): Promise<void> {
  await succeed(setUp.app, 'AUDIT_SETTINGS_UPDATE', { content });
  await sleep(HEARD_MS);
}

async function rowsWith(condition: string): Promise<number> {
  const [row] = await setUp.app.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM audit_records r WHERE (${condition})
        AND organization_id = (SELECT id FROM organizations WHERE slug = $1)`,
    [setUp.app.org],
  );
  return row?.n ?? 0;
}

describe('with content recording off', () => {
  it.each(Object.entries(entryPoints))('arguments and results are not recorded: %s', async (_entryPoint, call) => {
    expect(await call()).toMatchObject({
      tool_name: expect.stringMatching(/^echo/),
      status: 'success',
      arguments: null,
      result: null,
    });
  });

  it('no row contains any content', async () => {
    await recordOf(pathOf(setUp.app, 'self'), toolCall('MODEL_TIERS_GET'));
    expect(await latestOf('self')).toMatchObject({ tool_name: 'MODEL_TIERS_GET', arguments: null, result: null });
    expect(await rowsWith('arguments IS NOT NULL OR result IS NOT NULL')).toBe(0);
    expect(await rowsWith(`r::text LIKE '%hello%' OR r::text LIKE '%${PLANTED}%'`)).toBe(0);
  });
});

describe('with content recording on', () => {
  beforeAll(() => record(true));
  afterAll(() => record(false));

  it.each(Object.entries(entryPoints))(
    'arguments and results are recorded without secrets: %s',
    async (_entryPoint, call) => {
      expect(await call()).toMatchObject({ status: 'success', arguments: REDACTED_ARGS, result: REDACTED_RESULT });
    },
  );

  it('the caller and the upstream get the unredacted content', async () => {
    const before = setUp.upstream.calls('tools/call').length;
    const answer = await callProxy(setUp.app, pathOf(setUp.app, setUp.connection), {
      key: setUp.app.apiKey,
      body: toolCall('echo', ARGS),
    });
    expect(answer.text).toContain(PLANTED);
    expect(setUp.upstream.calls('tools/call').slice(before)[0]?.message.params?.['arguments']).toEqual(ARGS);
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
    const item = await recordOf(pathOf(setUp.app, setUp.connection), toolCall(tool, args), headers);
    const shown =
      'text' in args && args.text === LARGE ? {} : { arguments: { ...args, ...('password' in args && REDACTED_ARGS) } };
    expect(item).toMatchObject({ tool_name: tool, ...shown, ...expected });
  });

  it('records no arguments for a call without arguments', async () => {
    expect(await recordOf(pathOf(setUp.app, setUp.connection), rpc('tools/call', { name: 'echo' }))).toMatchObject({
      arguments: {},
    });
  });

  it.each(['proxy', 'gateway'])('a denied call is recorded: %s', async (entryPoint) => {
    const key = await keyWith(setUp.app, { [setUp.connection]: ['fail'], [setUp.agent]: ['fail'] });
    const path = entryPoint === 'proxy' ? pathOf(setUp.app, setUp.connection) : gatewayPath(setUp.app, setUp.agent);
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
    await recordOf(pathOf(setUp.app, 'self'), toolCall('API_KEY_CREATE', { name: 'made', permissions }));
    expect(await latestOf('self')).toMatchObject({ arguments: { name: 'made' }, result: { name: 'made', key: '***' } });
    const data = {
      title: 'Made',
      connection_type: 'HTTP',
      connection_url: setUp.upstream.url,
      connection_token: PLANTED,
      connection_headers: { headers: { 'x-anything': PLANTED } },
    };
    await recordOf(pathOf(setUp.app, 'self'), toolCall('COLLECTION_CONNECTIONS_CREATE', { data }));
    expect(await latestOf('self')).toMatchObject({
      status: 'success',
      arguments: { data: { title: 'Made', connection_token: '***', connection_headers: '***' } },
      result: { item: { title: 'Made' } },
    });
    await recordOf(pathOf(setUp.app, 'self'), toolCall('RUN_GET', { id: 7 }));
    expect(await latestOf('self')).toMatchObject({ arguments: { id: 7 }, result: { code: 'invalid_request' } });
  });

  it('no row contains a secret', async () => {
    expect(
      await rowsWith(`r::text LIKE '%${PLANTED}%' OR r::text LIKE '%${setUp.app.apiKey}%' OR r::text ~ 'sbx_\\w{20}'`),
    ).toBe(0);
    expect(await rowsWith(`r::text LIKE '%hello%'`)).toBeGreaterThan(10);
  });

  it('content that PostgreSQL rejects breaks neither its own record nor concurrent ones', async () => {
    const calls = Array.from({ length: 40 }, (_, n) => ({
      requestId: randomUUID(),
      body: toolCall(n % 2 === 0 ? 'hostile' : 'echo', n % 2 === 0 ? HOSTILE : ARGS),
    }));
    const called = calls.map(({ requestId, body }) => {
      const headers = { 'x-request-id': requestId, accept: 'application/json' };
      return callProxy(setUp.app, pathOf(setUp.app, setUp.connection), { key: setUp.app.apiKey, body, headers });
    });
    await Promise.all(called);
    const kept = { 'nul\ufffd': '\ufffd\ufffd', text: '\\N\t\n\\.', deep: HOSTILE.deep };
    // One after the other: of an organization's searches, few run and wait at a time.
    for (const [n, { requestId }] of calls.entries()) {
      const item = await auditOf(setUp.app, requestId);
      const expected =
        n % 2 === 0 ? { arguments: kept, result: kept } : { arguments: REDACTED_ARGS, result: REDACTED_RESULT };
      expect(item).toMatchObject({ status: 'success', ...expected });
    }
  });

  it('the setting does not affect another organization', async () => {
    const { key } = (await other.tool('API_KEY_CREATE', { name: 'x', permissions: { '*': ['*'] } }).expect(200)).body;
    const data = { title: 'Upstream', connection_type: 'HTTP', connection_url: setUp.upstream.url };
    const made = await other.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
    await callProxy(setUp.app, pathOf({ org: other.slug }, made.body.item.id), { key, body: toolCall('echo', ARGS) });
    const { body } = await other
      .tool('MONITORING_LOGS_LIST', { where: { field: ['door'], operator: 'eq', value: 'proxy' } })
      .expect(200);
    expect(body.items).toEqual([
      expect.objectContaining({ tool_name: 'echo', status: 'success', arguments: null, result: null }),
    ]);
    expect((await other.tool('AUDIT_SETTINGS_GET', {}).expect(200)).body).toEqual({ content: false });
  });
});
