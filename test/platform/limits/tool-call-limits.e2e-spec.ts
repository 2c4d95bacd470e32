import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { addKeyHolder } from '../../identity/organizations/organizations.support.js';
import { toolPartsOf } from '../../runtime/runs/runs.support.js';

const EVERYTHING = { self: ['*'], '*': ['*'] };
const TOOL = { name: 'fine', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };

let app: Tenant;
let upstream: ScriptedServer;
let id: string;

beforeAll(async () => {
  const tools = [TOOL, { ...TOOL, name: 'open', _meta: { 'mcp.service': { public_tool: true } } }];
  const { script } = legacyServer(({ message }, response) => {
    const content = [{ type: 'text', text: 'done' }];
    sendResult(response, message, message.method === 'tools/call' ? { content } : { tools });
  });
  upstream = await startScripted(script);
  app = await newTenant();
});
afterAll(async () => {
  await app?.close();
  await upstream?.close();
});
beforeEach(async () => {
  id = await connect(app, upstream.url);
});

async function limit(rate_limit: unknown, connection = id): Promise<supertest.Response> {
  return app.tool('COLLECTION_CONNECTIONS_UPDATE', { id: connection, data: { rate_limit } });
}

const call = (path = pathOf(app, id), key: string | undefined = app.apiKey) =>
  callProxy(app, path, { key, body: toolCall('fine') });

describe('the rate limit of a connection', () => {
  it('counts tool calls, shows its state, and refuses more with 429 and -32000', async () => {
    expect((await limit({ per_minute: 2 })).body.item.rate_limit).toEqual({ per_minute: 2 });
    for (const left of [1, 0]) {
      const { status, headers } = await call();
      expect(status).toBe(200);
      expect(headers['ratelimit-policy']).toBe('"connection";q=2;w=60');
      expect(headers['ratelimit']).toMatch(new RegExp(`^"connection";r=${left};t=\\d+$`));
    }
    const refused = await call();
    expect(refused.status).toBe(429);
    expect(rpcOf(refused).error).toMatchObject({ code: -32000, data: { code: 'rate_limited' } });
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(refused.headers['ratelimit']).toMatch(/^"connection";r=0;t=\d+$/);
    const requestId = rpcOf(refused).error?.data.request_id;
    await eventually(async () => expect(await auditOf(app, requestId)).toBeDefined());
    expect(await auditOf(app, requestId)).toMatchObject({ status: 'error', error_code: 'rate_limited' });
    // Lists do not count.
    const list = await callProxy(app, pathOf(app, id), { key: app.apiKey, body: rpc('tools/list') });
    expect(list.status).toBe(200);
    expect(list.headers['ratelimit']).toBeUndefined();
  });

  it('counts the calls from every entry point together, refused ones included', async () => {
    await limit({ per_minute: 4 });
    const agent = await agentOf(app, [id]);
    const denied = await keyWith(app, { [id]: ['other'] });
    const states: unknown[] = [];
    states.push((await call()).headers['ratelimit']);
    states.push((await call(gatewayPath(app, agent))).headers['ratelimit']);
    const direct = await callProxy(app, `${pathOf(app, id)}/call-tool/fine`, { key: app.apiKey, body: {} });
    states.push(direct.headers['ratelimit']);
    const refused = await call(pathOf(app, id), denied);
    states.push(refused.headers['ratelimit']);
    expect(refused.status).toBe(403);
    expect(states).toEqual([3, 2, 1, 0].map((left) => expect.stringContaining(`r=${left};`)));
    expect((await call(gatewayPath(app, agent))).status).toBe(429);
  });

  it('counts each caller separately: people, keys of the organization, and addresses', async () => {
    await limit({ per_caller_per_minute: 1 });
    const [one, other] = [await keyWith(app, EVERYTHING), await keyWith(app, EVERYTHING)];
    expect((await call(pathOf(app, id), one)).status).toBe(200);
    expect((await call(pathOf(app, id), other)).status).toBe(200);
    expect((await call(pathOf(app, id), one)).status).toBe(429);
    const open = () => callProxy(app, pathOf(app, id), { body: toolCall('open') });
    const first = await open();
    expect([first.status, first.headers['ratelimit-policy']]).toEqual([200, '"caller";q=1;w=60']);
    expect((await open()).status).toBe(429);
    // A call that needs a credential does not count.
    expect((await callProxy(app, pathOf(app, id), { body: toolCall('fine') })).status).toBe(401);
  });

  it('counts the keys of one person together', async () => {
    await limit({ per_caller_per_minute: 1 });
    const { key } = await addKeyHolder(app, 'admin');
    const another = await app.tool('API_KEY_CREATE', { name: 'another', permissions: EVERYTHING }, key).expect(200);
    expect((await call(pathOf(app, id), key)).status).toBe(200);
    expect((await call(pathOf(app, id), another.body.key)).status).toBe(429);
  });

  it('makes a tool call of a run fail for the model after five seconds', async () => {
    await limit({ per_minute: 1 });
    const thread = await ThreadClient.create(app, await createAgent(app, [id]));
    const taskId = await thread.postMessage('/call fine {}\n/call fine {}');
    await thread.waitFor(taskId, 'completed');
    const parts = toolPartsOf((await thread.answer(taskId)).parts);
    expect(parts).toMatchObject([
      { state: 'output-available' },
      {
        state: 'output-error',
        errorText: expect.stringContaining('The limit "connection" of 1 per minute is reached'),
      },
    ]);
  });

  it('lets a run wait for the next window', async () => {
    await limit({ per_minute: 1 });
    // The window of the connection has begun 58 s ago in another process.
    await app.query('INSERT INTO rate_limits VALUES ($1, 1, $2)', [`limit:connection:${id}`, Date.now() + 2_000]);
    const thread = await ThreadClient.create(app, await createAgent(app, [id]));
    const taskId = await thread.postMessage('/call fine {}');
    await thread.waitFor(taskId, 'completed');
    expect(toolPartsOf((await thread.answer(taskId)).parts)).toMatchObject([{ state: 'output-available' }]);
  });

  it('applies to the running window when it is changed, and is cleared with null', async () => {
    await limit({ per_minute: 2, per_caller_per_minute: 5 });
    for (let n = 0; n < 2; n++) expect((await call()).status).toBe(200);
    expect((await call()).status).toBe(429);
    expect((await limit({ per_minute: 4 })).body.item.rate_limit).toEqual({ per_minute: 4, per_caller_per_minute: 5 });
    expect((await call()).status).toBe(200);
    await limit({ per_minute: null });
    expect((await call()).headers['ratelimit-policy']).toBe('"caller";q=5;w=60');
    expect((await call()).status).toBe(429);
    expect((await limit(null)).body.item.rate_limit).toBeNull();
    const unlimited = await call();
    expect([unlimited.status, unlimited.headers['ratelimit']]).toEqual([200, undefined]);
  });

  it.each([{ per_minute: 0 }, { per_caller_per_minute: 0 }, { per_minute: 1.5 }, { per_day: 1 }, 7])(
    'must hold whole numbers from 1: not %j',
    async (rate_limit) => {
      expect((await limit(rate_limit)).status).toBe(400);
    },
  );

  it('is not a property of agents', async () => {
    const agent = await createAgent(app);
    expect((await limit({ per_minute: 1 }, agent)).status).toBe(400);
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_GET', { id: agent });
  });
});
