import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { startTestApp, type TestApp } from '../support/app.js';
import { type FakeOpenAI, PROVIDER_SECRET, startFakeOpenAI } from '../support/fake-openai.js';
import { startToolServer, type ToolServer } from '../support/tool-server.js';
import { eventually } from '../support/eventually.js';

type Line = Record<string, unknown>;

/** Values that must never appear in a log, each in its usual place. */
const SECRETS = {
  providerKey: 'provider-key-5f0c1d',
  connectionToken: 'connection-token-88a2e4',
  headerValue: 'header-value-c3b7f9',
  message: 'words-of-the-user-1a2b3c',
  argument: 'argument-of-the-tool-9d8e7f',
  instructions: 'instructions-of-the-agent-4c5d6e',
  queryText: 'text-in-the-query-0b1c2d',
  rejected: 'rejected-credential-7e6f5a',
};

const lines: string[] = [];
let service: TestApp;
let provider: FakeOpenAI;
let tools: ToolServer;

beforeAll(async () => {
  [provider, tools] = await Promise.all([startFakeOpenAI({ apiKey: SECRETS.providerKey }), startToolServer('echo')]);
  service = await startTestApp({ env: { LOG_LEVEL: 'trace' }, onLogLine: (line) => lines.push(line) });
});
afterAll(async () => {
  await service?.close();
  await Promise.all([provider?.close(), tools?.close()]);
});

/** The log line of the request with this id. It can appear slightly after the response. */
function lineOf(requestId: string): Promise<Line> {
  return eventually(() => {
    const found = lines
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line['request_id'] === requestId && line['msg'] === 'request');
    if (found.length > 1) throw new Error(`There are ${found.length} lines for the request ${requestId}.`);
    return found[0] ?? false;
  });
}

it('warns once of a proxy that TRUST_PROXY does not name', async () => {
  const warnings = (): string[] => lines.filter((line) => line.includes('TRUST_PROXY'));
  await supertest(service.url).get('/health/live').expect(200);
  expect(warnings()).toEqual([]);
  for (const requestId of ['log-proxy-1', 'log-proxy-2']) {
    const headers = { 'x-forwarded-for': '203.0.113.7', 'x-request-id': requestId };
    await supertest(service.url).get('/health/live').set(headers).expect(200);
    await lineOf(requestId);
  }
  expect(warnings().map((line) => (JSON.parse(line) as Line)['level'])).toEqual(['warn']);
});

describe('the log line of a request', () => {
  const COMMON = {
    level: 'info',
    service: 'signalbox',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    duration_ms: expect.any(Number),
    msg: 'request',
  };

  it('contains the caller, the request and its duration', async () => {
    const path = '/api/default/tools/API_KEY_LIST';
    await service.tool('API_KEY_LIST').set('x-request-id', 'log-1').expect(200);
    expect(await lineOf('log-1')).toEqual({
      ...COMMON,
      request_id: 'log-1',
      method: 'POST',
      path,
      route: '/api/:org/tools/:name',
      status: 200,
      organization: 'default',
      principal_kind: 'api_key',
      api_key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it.each([
    ['log-public', '/health/live', 200],
    ['log-unknown', '/nowhere', 404],
    ['log-refused', '/api/default/tools', 401],
    ['log-undecodable', '/api/%zz', 404],
  ])('is also written for anonymous callers: %s', async (requestId, path, status) => {
    await supertest(service.url).get(path).set('x-request-id', requestId).expect(status);
    expect(await lineOf(requestId)).toMatchObject({ ...COMMON, path, status, principal_kind: 'anonymous' });
  });

  it('omits the query', async () => {
    const path = '/api/default/tools';
    const query = { token: SECRETS.queryText };
    await supertest(service.url).get(path).query(query).set('x-request-id', 'log-query').expect(401);
    expect(await lineOf('log-query')).toMatchObject({ path });
  });
});

describe('the log of a whole flow', () => {
  it('contains no credential, message or argument', async () => {
    const created = await service.tool('API_KEY_CREATE', { name: 'flow', permissions: { self: ['*'], '*': ['*'] } });
    const key = created.body.key as string;
    const call = async (name: string, data: object): Promise<string> =>
      (await service.tool(name, { data }, key).expect(200)).body.item?.id as string;

    const connectionId = await call('COLLECTION_CONNECTIONS_CREATE', {
      connection_type: 'HTTP',
      title: 'Tools',
      connection_url: tools.url,
      connection_token: SECRETS.connectionToken,
      connection_headers: { headers: { 'x-api-key': SECRETS.headerValue } },
    });
    await service.tool('CONNECTION_TEST', { id: connectionId }, key).expect(200);
    const agentId = await call('COLLECTION_VIRTUAL_MCP_CREATE', {
      title: 'Agent',
      instructions: SECRETS.instructions,
      connections: [{ connection_id: connectionId, selected_tools: null }],
    });
    const run = async (threadId: string, text: string): Promise<void> => {
      await call('COLLECTION_THREADS_CREATE', { id: threadId, title: SECRETS.message, virtual_mcp_id: agentId });
      await supertest(service.url)
        .post(`/api/default/agent-runtime/threads/${threadId}/messages`)
        .set('authorization', `Bearer ${key}`)
        .send({ messages: [{ role: 'user', parts: [{ type: 'text', text }] }], agent: { id: agentId } })
        .expect(202);
      await settled(threadId);
    };
    await run('builtin', `${SECRETS.message}\n/call echo {"text":"${SECRETS.argument}"}\n/fail ${SECRETS.message}`);

    const providerId = await call('AI_PROVIDER_CREATE', {
      title: 'Fake',
      kind: 'openai-compatible',
      base_url: provider.baseUrl,
      api_key: SECRETS.providerKey,
    });
    await call('MODEL_TIERS_SET', { smart: { provider_id: providerId, model: 'fake' } });
    await run('provider', SECRETS.message);
    provider.script({ kind: 'status', status: 401 }, { kind: 'status', status: 401 });
    await run('refusal', SECRETS.message);
    provider.script({ kind: 'malformed-after', deltas: [SECRETS.message] });
    await run('malformed', SECRETS.message);

    // The check is meaningful only if all secrets were sent.
    expect(tools.calls('tools/call').map(({ message }) => message.params)).toMatchObject([
      { arguments: { text: SECRETS.argument } },
    ]);
    expect(provider.requests.length).toBeGreaterThanOrEqual(3);

    await service.tool('API_KEY_LIST', {}, SECRETS.rejected).expect(401);
    await service.tool('COLLECTION_THREADS_CREATE', { data: { title: 7, extra: SECRETS.argument } }, key).expect(400);
    await service.tool('API_KEY_DELETE', { id: created.body.id }).expect(200);

    expect(lines.length).toBeGreaterThan(20);
    for (const secret of [...Object.values(SECRETS), PROVIDER_SECRET, key, service.apiKey]) {
      expect({ secret, logged: lines.find((line) => line.includes(secret)) }).toEqual({ secret, logged: undefined });
    }
    expect(lines.join('')).not.toMatch(/sbx_[0-9A-Za-z]{10}/);
  });
});

async function settled(id: string): Promise<void> {
  await eventually(async () => {
    const { body } = await service.tool('COLLECTION_THREADS_GET', { id }).expect(200);
    expect(body.item.status).not.toBe('in_progress');
  });
}
