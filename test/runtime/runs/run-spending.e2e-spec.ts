import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { SpendUsage, UsageStats } from '../../../src/runtime/runs/usage.dto.js';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type Behaviour, type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { expectProblem } from '../../support/problem.js';
import { addKey, newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';
import { addPerson, newEmail } from '../../identity/sign-in/people.js';
import { createWebhook, deleteWebhook } from '../../automation/webhooks/webhooks.support.js';

/** A token of output costs a cent, so a call with at most 100 of them reserves a dollar. */
const PRICE = { input: 0, output: 10_000 };
const SO_FAR = expect.objectContaining({ type: 'text', text: expect.stringContaining('so far') });
const REFUSED = { status: 'failed', error: { code: 'spend_limit_reached' } };

let app: Tenant;
let provider: FakeOpenAI;
let tools: ToolServer;
let providerId: string;
let connectionId: string;
let agentId: string;
let thread: ThreadClient;
/** How the model answers the next requests; what a test leaves is dropped. */
const next: Behaviour[] = [];

beforeAll(async () => {
  const answer = (): Behaviour => next.shift() ?? answering(7);
  [app, provider, tools] = await Promise.all([newTenant(), startFakeOpenAI({ answer }), startToolServer('echo')]);
  connectionId = await connect(app, tools.url, 'Tools');
  const data = { title: 'Fake', kind: 'openai-compatible', base_url: provider.baseUrl };
  providerId = (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data })).item.id;
});
afterAll(async () => {
  await app?.close();
  await Promise.all([provider?.close(), tools?.close()]);
});
// Every test has an agent of its own, whose limit it sets.
beforeEach(async () => {
  script();
  agentId = await createAgent(app, [connectionId]);
  thread = await ThreadClient.create(app, agentId);
  await setTier();
});

function setTier(more: object = {}): Promise<{ warnings?: { path: string; code: string }[] }> {
  const smart = { provider_id: providerId, model: 'large', price: PRICE, max_output_tokens: 100, ...more };
  return succeed(app, 'MODEL_TIERS_SET', { data: { smart } });
}

function script(...behaviours: Behaviour[]): void {
  next.splice(0, Infinity, ...behaviours);
}

function limitAgent(spend: object | null, id = agentId): Promise<{ item: { spend: object | null } }> {
  return succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { spend } });
}

async function windowsOf(id: string): Promise<SpendUsage[]> {
  const { spend } = await succeed<UsageStats>(app, 'USAGE_STATS', { by: 'day' });
  return spend.filter((window) => window.id === id);
}

async function expectWindow(expected: Partial<SpendUsage>, id = agentId): Promise<void> {
  const [window] = await windowsOf(id);
  expect(window).toMatchObject(expected);
}

const answering = (outputTokens: number, more: object = {}): Behaviour => ({
  kind: 'text',
  deltas: ['ok'],
  usage: { inputTokens: 10, outputTokens },
  ...more,
});
const calling = (outputTokens: number, more: object = {}): Behaviour => ({
  kind: 'tool-calls',
  calls: [{ name: 'echo', arguments: { text: 'a' } }],
  usage: { inputTokens: 10, outputTokens },
  ...more,
});

async function runWith(...behaviours: Behaviour[]) {
  script(...behaviours);
  const { taskId } = await thread.ask('hello');
  return thread.run(taskId);
}

/** Begins a run whose call does not end. */
async function hang(on = thread, text = 'hello'): Promise<string> {
  script({ kind: 'hang-after', deltas: ['so far'] });
  const taskId = await on.postMessage(text);
  await eventually(async () => expect((await on.answer(taskId)).parts).toContainEqual(SO_FAR));
  return taskId;
}

describe('a spending limit', () => {
  it('reserves what a call can cost, and settles what it has cost', async () => {
    await limitAgent({ usd_per_day: 10, usd_per_month: 20 });
    const taskId = await hang();
    await expectWindow({ period: 'day', limit_usd: 10, used_usd: 0, reserved_usd: 1, left_usd: 9 });
    await thread.cancel(taskId);
    await thread.waitFor(taskId, 'cancelled');
    // What the provider charges for a call that did not end is not known.
    await expectWindow({ used_usd: 1, reserved_usd: 0, left_usd: 9 });
    expect(await runWith(calling(30), answering(50))).toMatchObject({ status: 'completed', cost_usd: 0.8 });
    const windows = await windowsOf(agentId);
    expect(windows).toMatchObject([
      { scope: 'agent', name: 'Agent', period: 'day', limit_usd: 10, used_usd: 1.8, reserved_usd: 0, left_usd: 8.2 },
      { scope: 'agent', period: 'month', limit_usd: 20, used_usd: 1.8, reserved_usd: 0, left_usd: 18.2 },
    ]);
    for (const { starts_at, ends_at } of windows) {
      expect(starts_at).toMatch(/T00:00:00.000Z$/);
      expect(ends_at).toMatch(/T00:00:00.000Z$/);
      expect(Date.parse(starts_at)).toBeLessThan(Date.parse(ends_at));
    }
  });

  it('reserves the input, and 4,096 tokens of output where the tier has no limit for them', async () => {
    await setTier({ price: { input: 10_000, output: 10_000 }, max_output_tokens: undefined });
    await limitAgent({ usd_per_day: 40.95 });
    expectProblem(await thread.post(thread.request('hello')), 429, 'spend_limit_reached');
    await limitAgent({ usd_per_day: 1000 });
    const reservedFor = async (text: string): Promise<number> => {
      const own = await ThreadClient.create(app, agentId);
      const taskId = await hang(own, text);
      const [window] = await windowsOf(agentId);
      await own.cancel(taskId);
      await own.waitFor(taskId, 'cancelled');
      return window?.reserved_usd ?? 0;
    };
    const [short, long] = [await reservedFor('hello'), await reservedFor(`hello${'x'.repeat(3_000)}`)];
    expect(short).toBeGreaterThan(40.96);
    // A token for three bytes.
    expect(long - short).toBeCloseTo(10, 6);
  });

  it.each(['day', 'month'])('admits again in a new %s', async (period) => {
    await limitAgent({ [`usd_per_${period}`]: 1.5 });
    await runWith(answering(80));
    expectProblem(await thread.post(thread.request('again')), 429, 'spend_limit_reached');
    // As if all of it had been in the one before.
    for (const [table, column, subject] of [
      ['spend_windows', 'starts_at', 'subject_id'],
      ['runs', 'created_at', 'agent_id'],
    ])
      await app.query(`UPDATE ${table} SET ${column} = ${column} - interval '1 ${period}' WHERE ${subject} = $1`, [
        agentId,
      ]);
    expect(await runWith(answering(10))).toMatchObject({ status: 'completed' });
    expect(await windowsOf(agentId)).toMatchObject([{ period, used_usd: 0.1, reserved_usd: 0 }]);
  });

  it('admits one of two posts at once where one fits', async () => {
    await limitAgent({ usd_per_day: 1.5 });
    script({ kind: 'hang' });
    const threads = [thread, await ThreadClient.create(app, agentId)];
    const answers = await Promise.all(threads.map((each) => each.post(each.request('hello'))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expectProblem(refused as never, 429, 'spend_limit_reached');
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    const accepted = answers.findIndex(({ status }) => status === 202);
    await threads[accepted]?.cancel();
    await eventually(async () => expect((await windowsOf(agentId))[0]).toMatchObject({ reserved_usd: 0 }));
  });

  it('ends a run before a call that does not fit', async () => {
    await limitAgent({ usd_per_day: 1.5 });
    const run = await runWith(calling(80));
    expect(run).toMatchObject({ ...REFUSED, cost_usd: 0.8 });
    expect(run.error?.message).toContain('the agent for this day');
    await expectWindow({ used_usd: 0.8, reserved_usd: 0, left_usd: 0.7 });
    const refused = await thread.post(thread.request('again'));
    expectProblem(refused, 429, 'spend_limit_reached');
    // Until the end of the day in UTC.
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(86_400);
    expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('refuses to answer a question again without the means', async () => {
    await runWith(answering(80));
    await limitAgent({ usd_per_month: 1 });
    const path = `${app.url}/api/${app.org}/agent-runtime/threads/${thread.id}/regenerate`;
    const headers = { authorization: `Bearer ${app.apiKey}`, 'content-type': 'application/json' };
    const refused = await fetch(path, { method: 'POST', headers, body: '{}' });
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([429, 'spend_limit_reached']);
    await limitAgent({ usd_per_month: 2 });
    script(answering(1));
    expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(202);
  });

  it('begins with what the runs of its window have cost, and forgets what it counted when it is cleared', async () => {
    await runWith(answering(70));
    await limitAgent({ usd_per_day: 5 });
    await expectWindow({ used_usd: 0.7 });
    await runWith(answering(20));
    await expectWindow({ used_usd: 0.9 });
    expect((await limitAgent(null)).item.spend).toBeNull();
    expect(await windowsOf(agentId)).toEqual([]);
    await runWith(answering(10));
    await limitAgent({ usd_per_day: 5 });
    await expectWindow({ used_usd: 1, left_usd: 4 });
  });

  it.each([
    ['that does not fit', PRICE, REFUSED, 0.8],
    ['of a model without a price', undefined, { status: 'failed', error: { code: 'price_missing' } }, null],
  ])('ends a run under way when it is set, before a call %s', async (_what, price, refused, cost) => {
    await setTier({ price });
    const calls = provider.requests.length;
    const limited = Promise.withResolvers<void>();
    script(calling(80, { deltas: ['so far'], until: limited.promise }));
    const taskId = await thread.postMessage('hello');
    await eventually(async () => expect((await thread.answer(taskId)).parts).toContainEqual(SO_FAR));
    await limitAgent({ usd_per_day: 1 });
    limited.resolve();
    const run = await thread.waitFor(taskId, 'completed', 'failed');
    expect(run).toMatchObject({ ...refused, cost_usd: cost });
    expect(provider.requests).toHaveLength(calls + 1);
    await expectWindow({ used_usd: cost ?? 0, reserved_usd: 0 });
  });

  it('that is lowered below what is reserved leaves nothing, and lets the call end', async () => {
    await limitAgent({ usd_per_day: 10 });
    const taskId = await hang();
    await limitAgent({ usd_per_day: 0.5 });
    await expectWindow({ limit_usd: 0.5, used_usd: 0, reserved_usd: 1, left_usd: 0 });
    const other = await ThreadClient.create(app, agentId);
    expectProblem(await other.post(other.request('hello')), 429, 'spend_limit_reached');
    await thread.cancel(taskId);
    await thread.waitFor(taskId, 'cancelled');
    await expectWindow({ used_usd: 1, reserved_usd: 0, left_usd: 0 });
  });

  it('frees what a run has reserved that never called its model, and counts a call that is lost', async () => {
    await limitAgent({ usd_per_day: 10 });
    const first = await hang();
    const queued = await thread.postMessage('and then');
    await expectWindow({ used_usd: 0, reserved_usd: 2 });
    await thread.cancel(queued);
    await expectWindow({ used_usd: 0, reserved_usd: 1 });
    expect((await app.tool('COLLECTION_THREADS_DELETE', { id: thread.id })).status).toBe(409);
    // As the deletion of whatever the run belongs to does.
    await app.query('DELETE FROM runs WHERE id = $1', [first]);
    await expectWindow({ used_usd: 1, reserved_usd: 0 });
  });

  it('pays for fallbacks and for repeated requests, and not for what a provider refuses', async () => {
    const fallbacks = [
      { provider_id: providerId, model: 'small', price: { input: 0, output: 5_000 }, max_output_tokens: 100 },
    ];
    await setTier({ fallbacks });
    await limitAgent({ usd_per_day: 1.2 });
    const run = await runWith({ kind: 'status', status: 500 }, calling(40), answering(40));
    expect(run).toMatchObject({ status: 'completed', cost_usd: 0.4 });
    await expectWindow({ used_usd: 0.4, reserved_usd: 0 });
    await setTier();
    await limitAgent({ usd_per_day: 3 });
    const again = await runWith({ kind: 'status', status: 429, headers: { 'retry-after': '0' } }, answering(10));
    expect(again).toMatchObject({ status: 'completed' });
    await expectWindow({ used_usd: 0.5, reserved_usd: 0 });
    // Without a report of tokens, and where the connection is lost.
    expect(await runWith({ kind: 'break-after', deltas: ['so'] })).toMatchObject({ status: 'failed' });
    await expectWindow({ used_usd: 1.5, reserved_usd: 0 });
  });

  it('fails the run of a schedule that cannot pay', async () => {
    await runWith(answering(50));
    await limitAgent({ usd_per_day: 1 });
    const data = { title: 'Often', virtual_mcp_id: agentId, message: 'hello', cron: '0 0 1 1 *' };
    const { item } = await succeed<{ item: { id: string } }>(app, 'SCHEDULE_CREATE', { data });
    const run = await succeed<{ taskId?: string; run_id?: string }>(app, 'SCHEDULE_RUN', { id: item.id });
    const id = (run.taskId ?? run.run_id) as string;
    expect(await thread.waitFor(id, 'failed')).toMatchObject(REFUSED);
  });

  it('applies to a key together with the keys that it makes, which cannot lift it', async () => {
    const permissions = { self: ['*'], '*': ['*'] };
    type Created = { id: string; key: string; spend: object };
    const key: Created = (await app.tool('API_KEY_CREATE', { name: 'k', permissions, spend: { usd_per_day: 1.5 } }))
      .body;
    expect(key.spend).toEqual({ usd_per_day: 1.5 });
    const child: Created = (await app.tool('API_KEY_CREATE', { name: 'c', permissions }, key.key)).body;
    const lift = { id: key.id, spend: { usd_per_day: 3 } };
    expectProblem(await app.tool('API_KEY_UPDATE', lift, key.key), 403, 'permission_widening');
    expectProblem(await app.tool('API_KEY_UPDATE', { ...lift, spend: null }, child.key), 403, 'permission_widening');
    expectProblem(await app.tool('API_KEY_DELETE', { id: key.id, children: 'keep' }, key.key), 409, 'conflict');
    script(answering(60));
    const { taskId } = (await thread.post(thread.request('hello'), { key: child.key }).expect(202)).body;
    await thread.waitFor(taskId, 'completed');
    await expectWindow({ scope: 'key', name: 'k', used_usd: 0.6, reserved_usd: 0 }, key.id);
    const refused = await thread.post(thread.request('hello'), { key: key.key });
    expectProblem(refused, 429, 'spend_limit_reached');
    await thread.ask('with another key');
    await succeed(app, 'API_KEY_UPDATE', lift);
    script(answering(1));
    await thread.post(thread.request('hello'), { key: child.key }).expect(202);
  });

  it('applies to a person, who cannot lift it', async () => {
    const email = newEmail();
    const userId = await addPerson(app, { email, name: '' });
    const { key } = await addKey(app, { name: 'person', userId });
    const where = { field: ['user_id'], operator: 'eq', value: userId };
    const { items } = await succeed<{ items: { id: string; spend: null }[] }>(app, 'MEMBER_LIST', { where });
    expect(items).toMatchObject([{ spend: null }]);
    const id = items[0]?.id as string;
    const limited = await succeed<{ item: object }>(app, 'MEMBER_UPDATE', { id, spend: { usd_per_month: 1.5 } });
    expect(limited.item).toMatchObject({ role: 'member', spend: { usd_per_month: 1.5 } });
    script(answering(60));
    const { taskId } = (await thread.post(thread.request('hello'), { key }).expect(202)).body;
    await thread.waitFor(taskId, 'completed');
    await expectWindow({ scope: 'person', name: email, period: 'month', used_usd: 0.6 }, id);
    expectProblem(await thread.post(thread.request('hello'), { key }), 429, 'spend_limit_reached');
    await succeed(app, 'ORGANIZATION_UPDATE', { member_permissions: { self: ['MEMBER_UPDATE'] } });
    const lifting = await eventually(async () => {
      const answer = await app.tool('MEMBER_UPDATE', { id, spend: null }, key);
      expect((answer.body as { code: string }).code).not.toBe('permission_denied');
      return answer;
    });
    expectProblem(lifting, 403, 'permission_widening');
    expect((await app.tool('MEMBER_UPDATE', { id, spend: { usd_per_month: 1 } }, key)).status).toBe(200);
    const { item } = await succeed<{ item: { id: string } }>(app, 'MEMBER_INVITE', {
      email: newEmail(),
      role: 'member',
    });
    const refused = await app.tool('MEMBER_UPDATE', { id: item.id, spend: { usd_per_day: 1 } });
    expectProblem(refused, 409, 'conflict');
  });

  it.each([[0], [-1], [1e9], ['1'], [1e-9], [{}]])('of %j is refused', async (usd) => {
    for (const spend of [{ usd_per_day: usd }, { usd_per_month: usd }]) {
      const update = { id: agentId, data: { spend } };
      for (const [name, body] of [
        ['COLLECTION_VIRTUAL_MCP_UPDATE', update],
        ['API_KEY_CREATE', { name: 'k', permissions: {}, spend }],
        ['ORGANIZATION_UPDATE', { limits: { spend } }],
        ['MEMBER_UPDATE', { id: agentId, spend }],
      ] as const) {
        const answer = await app.tool(name, body);
        expectProblem(answer, 400, 'invalid_request');
        for (const { path } of (answer.body as { errors: { path: string }[] }).errors)
          expect(path).toContain('usd_per_');
      }
    }
  });

  it('keeps a model without a price from being called, and warns of it', async () => {
    const fallbacks = [{ provider_id: providerId, model: 'free' }];
    await setTier({ fallbacks });
    const warned = [{ path: 'smart.fallbacks[0]', code: 'price_missing' }];
    expect(await limitAgent({ usd_per_day: 5 })).toMatchObject({ warnings: warned });
    expect(await setTier({ fallbacks })).toMatchObject({ warnings: warned });
    const spend = { usd_per_day: 5 };
    const key = await succeed<{ id: string }>(app, 'API_KEY_CREATE', { name: 'warned', permissions: {}, spend });
    expect(key).toMatchObject({ warnings: warned });
    expect(await succeed(app, 'API_KEY_UPDATE', { id: key.id, spend })).toMatchObject({ warnings: warned });
    const { items } = await succeed<{ items: { id: string }[] }>(app, 'MEMBER_LIST', {
      where: { field: ['user_id'], operator: 'eq', value: await addPerson(app, { email: newEmail() }) },
    });
    expect(await succeed(app, 'MEMBER_UPDATE', { id: items[0]?.id, spend })).toMatchObject({ warnings: warned });
    const refused = await thread.post(thread.request('hello'));
    expectProblem(refused, 409, 'price_missing');
    expect(refused.body).toMatchObject({ errors: [{ path: 'smart.fallbacks[0]', code: 'price_missing' }] });
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: null } });
    // The built-in model costs nothing.
    expect(await runWith()).toMatchObject({ status: 'completed' });
    expect(await setTier()).not.toHaveProperty('warnings');
  });
});

describe('the webhook spend.threshold', () => {
  let receiver: WebhookReceiver;
  beforeEach(async () => {
    receiver = await WebhookReceiver.start();
  });
  afterEach(() => receiver?.close());

  it('is told once for each window of 80 %, and of the first refused call', async () => {
    const webhook = await createWebhook(app, receiver.url, { events: ['spend.threshold'] });
    await limitAgent({ usd_per_day: 2 });
    await runWith(answering(80));
    await runWith(answering(80));
    // It is sent before the second arises.
    await receiver.messagesOf(agentId);
    expect(await thread.post(thread.request('hello'))).toMatchObject({ status: 429 });
    expect(await thread.post(thread.request('hello'))).toMatchObject({ status: 429 });
    const told = (await receiver.messagesOf(agentId, 2)).map(({ body }) => JSON.parse(body) as { data: object });
    expect(told).toMatchObject([
      { type: 'spend.threshold', data: { scope: 'agent', period: 'day', limit_usd: 2, used_usd: 1.6, reached: false } },
      { type: 'spend.threshold', data: { scope: 'agent', id: agentId, used_usd: 1.6, reserved_usd: 0, reached: true } },
    ]);
    const where = { field: ['webhook_id'], operator: 'eq', value: webhook.item.id };
    const { items } = await succeed<{ items: object[] }>(app, 'WEBHOOK_DELIVERIES_LIST', { where });
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({ event: 'spend.threshold', run_id: null });
    await deleteWebhook(app, webhook);
  });
});

describe('the spending limit of an organization', () => {
  it('applies to all of its runs', async () => {
    type Limits = { item: { limits: object }; warnings?: object[] };
    const set = (limits: object | null) => succeed<Limits>(app, 'ORGANIZATION_UPDATE', { limits });
    const { item: organization } = await succeed<{ item: { name: string } }>(app, 'ORGANIZATION_GET', {});
    const [used = 0] = await set({ spend: { usd_per_day: 100_000 } }).then(async () =>
      (await succeed<UsageStats>(app, 'USAGE_STATS', { by: 'day' })).spend
        .filter(({ scope, name }) => scope === 'organization' && name === organization.name)
        .map(({ used_usd }) => used_usd),
    );
    expect(used).toBeGreaterThan(1);
    const { item } = await set({ spend: { usd_per_month: 100_000, usd_per_day: used + 0.5 } });
    expect(item.limits).toEqual({ spend: { usd_per_day: used + 0.5, usd_per_month: 100_000 } });
    expectProblem(await thread.post(thread.request('hello')), 429, 'spend_limit_reached');
    expect((await set({ spend: { usd_per_day: null } })).item.limits).toEqual({ spend: { usd_per_month: 100_000 } });
    expect(await runWith(answering(10))).toMatchObject({ status: 'completed' });
    expect((await set({ spend: null })).item.limits).toEqual({});
  });
});
