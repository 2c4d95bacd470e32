import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { UsageStats } from '../../../src/runtime/runs/usage.dto.js';
import { createAgent, LONG, serveTier, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { type FakeOpenAI, PROVIDER_SECRET, startFakeOpenAI } from '../../support/fake-openai.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';

/** All runs are of these days. */
const RANGE = { from: '2026-01-01', to: '2026-02-01' };

let app: TestApp;
let provider: FakeOpenAI;
let agents: string[];
let otherKey: { id: string; key: string };
let usage: { inputTokens: number; outputTokens: number; totalTokens: number }[];

beforeAll(async () => {
  [app, provider] = await Promise.all([startTestApp(), startFakeOpenAI()]);
  agents = [await createAgent(app), await createAgent(app)];
  otherKey = (await app.tool('API_KEY_CREATE', { name: 'other', permissions: { self: ['*'] } })).body;
  await serveTier(app, 'thinking', provider, { model: 'large' }, { api_key: PROVIDER_SECRET });
  const [one, two] = await Promise.all(agents.map((agent) => ThreadClient.create(app, agent)));
  if (one === undefined || two === undefined) throw new Error('There are two agents.');
  const completed = await one.ask('hello');
  const failed = await one.ask('/fail words');
  const large = await two.ask('hello', { tier: 'thinking' });
  const { taskId } = (await two.post(two.request(LONG), { key: otherKey.key }).expect(202)).body;
  await two.waitFor(taskId, 'running');
  await two.cancel(taskId).expect(202);
  await two.waitFor(taskId, 'cancelled');
  const days = ['2026-01-01T00:00:00Z', '2026-01-31T23:59:59Z', '2026-01-15T12:00:00Z', '2026-01-15T13:00:00Z'];
  const ids = [completed.taskId, failed.taskId, large.taskId, taskId as string];
  for (const [n, id] of ids.entries()) {
    await app.app.get(DataSource).query('UPDATE runs SET created_at = $1 WHERE id = $2', [days[n], id]);
  }
  usage = await Promise.all(
    [completed, failed, large].map(
      async (run) => (await one.run(run.taskId)).usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ),
  );
});
afterAll(async () => {
  await app?.close();
  await provider?.close();
});

function stats(input: object): Promise<UsageStats> {
  return succeed<UsageStats>(app, 'USAGE_STATS', { ...RANGE, ...input });
}

function tokensOf(...indices: number[]): object {
  const sum = (field: keyof (typeof usage)[number]): number =>
    indices.reduce((total, index) => total + (usage[index]?.[field] ?? 0), 0);
  return { input_tokens: sum('inputTokens'), output_tokens: sum('outputTokens'), total_tokens: sum('totalTokens') };
}

/** No model has a price; the failed run and the cancelled one used no tokens. */
function unpriced(runs: number): object {
  return { cost_usd: null, unpriced_runs: runs };
}

describe('USAGE_STATS', () => {
  it('counts runs and tokens', async () => {
    const { groups, ...rest } = await stats({ by: 'agent' });

    expect(rest).toEqual({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-02-01T00:00:00.000Z',
      by: 'agent',
      total: { runs: 4, completed: 2, failed: 1, cancelled: 1, ...tokensOf(0, 1, 2), ...unpriced(2) },
      truncated: false,
      spend: [],
    });
    expect(usage[0]?.totalTokens).toBeGreaterThan(0);
    expect(usage[2]?.totalTokens).toBeGreaterThan(0);
    expect(groups).toHaveLength(2);
    expect(groups).toContainEqual({
      group: agents[0],
      runs: 2,
      completed: 1,
      failed: 1,
      cancelled: 0,
      ...tokensOf(0, 1),
      ...unpriced(1),
    });
    expect(groups).toContainEqual({
      group: agents[1],
      runs: 2,
      completed: 1,
      failed: 0,
      cancelled: 1,
      ...tokensOf(2),
      ...unpriced(1),
    });
  });

  it('groups by model, those with the most tokens first', async () => {
    const { groups } = await stats({ by: 'model' });
    const tokens = groups.map((group) => group.total_tokens);

    expect(groups.map(({ group }) => group).toSorted()).toEqual(['builtin/echo', 'openai-compatible/large']);
    expect(groups).toContainEqual(
      expect.objectContaining({ group: 'openai-compatible/large', runs: 1, ...tokensOf(2) }),
    );
    expect(tokens).toEqual(tokens.toSorted((a, b) => b - a));
  });

  it('groups by API key', async () => {
    const { groups } = await stats({ by: 'key' });
    const { items } = await succeed<{ items: { id: string; name: string }[] }>(app, 'API_KEY_LIST', {});
    const bootstrap = items.find(({ name }) => name === 'bootstrap');

    expect(groups).toHaveLength(2);
    expect(groups).toContainEqual(expect.objectContaining({ group: bootstrap?.id, runs: 3 }));
    expect(groups).toContainEqual(expect.objectContaining({ group: otherKey.id, runs: 1, cancelled: 1 }));
  });

  it('groups by person, with the keys of the organization as one', async () => {
    const { groups } = await stats({ by: 'person' });

    expect(groups.map(({ group, runs }) => [group, runs])).toEqual([[null, 4]]);
  });

  it('groups by day in UTC, oldest first', async () => {
    const { groups } = await stats({ by: 'day' });

    expect(groups.map(({ group, runs }) => [group, runs])).toEqual([
      ['2026-01-01', 1],
      ['2026-01-15', 2],
      ['2026-01-31', 1],
    ]);
  });

  it('begins at `from` and ends before `to`', async () => {
    const { total, groups } = await stats({ by: 'day', from: '2026-01-15T12:00:00Z', to: '2026-01-15T13:00:00Z' });

    expect(total.runs).toBe(1);
    expect(groups).toMatchObject([{ group: '2026-01-15', runs: 1 }]);
  });

  it('covers the last 30 days unless it is told', async () => {
    const { from, to, total } = await succeed<UsageStats>(app, 'USAGE_STATS', { by: 'day' });

    expect(Date.parse(to) - Date.parse(from)).toBe(30 * 86_400_000);
    expect(total).toEqual({ runs: 0, completed: 0, failed: 0, cancelled: 0, ...tokensOf(), ...unpriced(0) });
  });

  it('counts the own organization only', async () => {
    const other = await startSecondOrganization(app, 'other');
    const { body } = await other.tool('USAGE_STATS', { ...RANGE, by: 'agent' }).expect(200);

    expect(body).toMatchObject({ total: { runs: 0 }, groups: [] });
  });

  it.each([
    ['by', {}],
    ['by', { by: 'organization' }],
    ['from', { by: 'day', from: 'yesterday' }],
    ['to', { by: 'day', to: '2026-02-30' }],
    ['from', { by: 'day', from: '2026-02-01', to: '2026-01-01' }],
    ['agent_id', { by: 'day', agent_id: 'x' }],
  ])('refuses a bad %s', async (path, input) => {
    const problem = expectProblem(await app.tool('USAGE_STATS', input), 400, 'invalid_request');
    expect(problem.errors?.map((fault) => fault.path)).toEqual([path]);
  });

  it('needs its permission', async () => {
    const made = await app.tool('API_KEY_CREATE', { name: 'half', permissions: { self: ['MONITORING_STATS'] } });
    expectProblem(await app.tool('USAGE_STATS', { by: 'day' }, made.body.key as string), 403, 'permission_denied');
  });

  it('refuses a question that takes too long', async () => {
    const locker = app.app.get(DataSource).createQueryRunner();
    await locker.startTransaction();
    try {
      await locker.query('LOCK TABLE runs IN ACCESS EXCLUSIVE MODE');
      expectProblem(await app.tool('USAGE_STATS', { by: 'day' }), 400, 'invalid_request');
    } finally {
      await locker.rollbackTransaction();
      await locker.release();
    }
  });
});
