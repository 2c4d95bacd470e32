import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunStats } from '../../../src/runtime/runs/run-stats.dto.js';
import { createAgent, createThread, succeed } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const RANGE = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };

let app: Tenant;
let agents: string[];

/** Stores a run of the agent that took so many milliseconds. */
async function storeRun(
  agentId: string,
  run: { at: string; status: string; model?: string; ms?: number; waitedMs?: number; tokens?: [number, number] },
): Promise<void> {
  const threadId = await createThread(app, agentId);
  const [input, output] = run.tokens ?? [];
  const usage = input === undefined ? null : { inputTokens: input, outputTokens: output, totalTokens: input };
  await app.query(
    `INSERT INTO runs (id, organization_id, thread_id, agent_id, holder_id, request_id, status, tier, message_id, model, usage,
                       created_at, started_at, finished_at, waited_ms)
     SELECT gen_random_uuid(), o.id, $1, $2, gen_random_uuid(), 'r', $3, 'smart', 'm', $4, $5, $6::timestamptz, $6::timestamptz,
            $6::timestamptz + $7 * interval '1 millisecond', $8
       FROM organizations o WHERE slug = $9`,
    [threadId, agentId, run.status, run.model ?? null, usage, run.at, run.ms ?? null, run.waitedMs ?? 0, app.org],
  );
}

beforeAll(async () => {
  // No worker looks at the runs.
  app = await newTenant({ ROLE: 'api' });
  agents = [await createAgent(app), await createAgent(app)];
  const [one = '', two = ''] = agents;
  await storeRun(one, { at: '2026-01-01T10:10:00Z', status: 'completed', model: 'a', ms: 100, tokens: [10, 1] });
  await storeRun(one, { at: '2026-01-01T10:20:00Z', status: 'failed', model: 'a', ms: 300, tokens: [20, 2] });
  await storeRun(two, { at: '2026-01-01T12:10:00Z', status: 'completed', model: 'b', ms: 5200, waitedMs: 5000 });
  await storeRun(one, { at: '2026-01-01T12:20:00Z', status: 'cancelled', ms: 9000 });
  await storeRun(two, { at: '2025-12-31T23:59:59Z', status: 'completed', model: 'b', ms: 1 });
});
afterAll(() => app?.close());

const stats = (input: object = {}): Promise<RunStats> => succeed<RunStats>(app, 'RUN_STATS', { ...RANGE, ...input });

describe('RUN_STATS', () => {
  it('counts runs, tokens and durations in total, over time, by agent and by model', async () => {
    const answer = await stats();
    expect(answer).toMatchObject({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T00:00:00.000Z',
      waiting_approvals: 0,
      truncated: false,
    });
    expect(answer.total).toEqual({
      runs: 4,
      queued: 0,
      running: 0,
      waiting: 0,
      completed: 2,
      failed: 1,
      cancelled: 1,
      input_tokens: 30,
      output_tokens: 3,
      cost_usd: null,
      unpriced_runs: 2,
      duration_ms: { p50: 200, p95: expect.closeTo(290), p99: expect.closeTo(298) },
    });
    const times = answer.over_time.map(({ at, runs }) => [at, runs]);
    expect(times.reduce((sum, [, runs]) => sum + Number(runs), 0)).toBe(4);
    expect(times).toEqual(times.toSorted());
    expect(answer.agents).toEqual([
      expect.objectContaining({ agent_id: agents[0], agent_title: 'Agent', runs: 3, failed: 1 }),
      expect.objectContaining({ agent_id: agents[1], agent_title: 'Agent', runs: 1, completed: 1 }),
    ]);
    expect(answer.models.map(({ model, runs, input_tokens }) => [model, runs, input_tokens])).toEqual([
      ['a', 2, 30],
      ['b', 1, 0],
      [null, 1, 0],
    ]);
  });

  it('counts the runs of one agent', async () => {
    const answer = await stats({ agent_id: agents[1] });
    expect(answer.total).toMatchObject({ runs: 1, duration_ms: { p50: 200, p95: 200, p99: 200 } });
    expect(answer.agents).toHaveLength(1);
  });

  it('counts nothing where nothing ran, and nothing of others', async () => {
    const second = await newTenant({ ROLE: 'api' });
    const { body } = await second.tool('RUN_STATS', RANGE);
    expect(body).toMatchObject({ total: { runs: 0, duration_ms: null }, over_time: [], agents: [], models: [] });
    await second.close();
  });

  it('counts the approvals that wait', async () => {
    const [changed] = await app.query<{ id: string }>(
      `UPDATE runs SET status = 'waiting' WHERE status = 'cancelled' AND agent_id = ANY($1) RETURNING id`,
      [agents],
    );
    const sql = `INSERT INTO run_approvals (id, run_id, tool_call_id, tool_name, connection_id, input, expires_at, closed_at)
      VALUES (gen_random_uuid(), $1, $2, 't', gen_random_uuid(), '{}', now() + interval '1 hour', $3)`;
    for (const [call, closedAt] of [
      ['open', null],
      ['closed', new Date()],
    ])
      await app.query(sql, [changed?.id, call, closedAt]);
    expect(await stats()).toMatchObject({ waiting_approvals: 1, total: { waiting: 1, cancelled: 0 } });
  });

  it.each([{ from: 'yesterday' }, { from: RANGE.to, to: RANGE.from }, { agent_id: 'x' }])(
    'refuses %j',
    async (input) => {
      expect((await app.tool('RUN_STATS', { ...RANGE, ...input })).status).toBe(400);
    },
  );
});
