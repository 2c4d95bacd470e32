import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunStats } from '../../../src/runtime/runs/run-stats.dto.js';
import type { RunDetails, RunPage } from '../../../src/runtime/runs/records/run.dto.js';
import type { ThreadItem } from '../../../src/runtime/threads/thread.dto.js';
import type { UsageStats } from '../../../src/runtime/runs/usage.dto.js';
import { answer, createAskingAgent } from '../approvals/approvals.support.js';
import { type Behaviour, type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { eventually } from '../../support/eventually.js';

const PRICE = { input: 3, output: 15, cached_input: 0.3 };

let app: Tenant;
let provider: FakeOpenAI;
let tools: ToolServer;
let connectionId: string;
let providerId: string;
let agentId: string;
let thread: ThreadClient;

beforeAll(async () => {
  [app, provider, tools] = await Promise.all([newTenant(), startFakeOpenAI(), startToolServer('echo')]);
  connectionId = await connect(app, tools.url, 'Tools');
  const data = { title: 'Fake', kind: 'openai-compatible', base_url: provider.baseUrl };
  providerId = (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data })).item.id;
});
afterAll(async () => {
  await app?.close();
  await Promise.all([provider?.close(), tools?.close()]);
});
beforeEach(async () => {
  agentId = await createAgent(app, [connectionId]);
  thread = await ThreadClient.create(app, agentId);
});

function setPrice(price?: object): Promise<unknown> {
  const smart = { provider_id: providerId, model: 'large', ...(price && { price }) };
  return succeed(app, 'MODEL_TIERS_SET', { data: { smart } });
}

async function runWith(...behaviours: Behaviour[]): Promise<RunDetails> {
  provider.script(...behaviours);
  const { taskId } = await thread.ask('hello');
  return detailsOf(taskId);
}

async function detailsOf(id: string): Promise<RunDetails> {
  return (await succeed<{ item: RunDetails }>(app, 'RUN_GET', { id })).item;
}

const text = (inputTokens: number, outputTokens: number, cachedInputTokens?: number): Behaviour => ({
  kind: 'text',
  deltas: ['ok'],
  usage: { inputTokens, outputTokens, ...(cachedInputTokens !== undefined && { cachedInputTokens }) },
});
const CALL: Behaviour = {
  kind: 'tool-calls',
  calls: [{ name: 'echo', arguments: { text: 'a' } }],
  usage: { inputTokens: 1_000, outputTokens: 100 },
};

describe('the cost of a run', () => {
  it('is the sum over its model calls, with cached input at its own price', async () => {
    await setPrice(PRICE);
    const run = await runWith(CALL, text(2_000, 50, 500));
    // 1,000 × 3 + 100 × 15 = 4,500, and 1,500 × 3 + 500 × 0.3 + 50 × 15 = 5,400 millionths of a dollar.
    expect(run.cost_usd).toBe(0.0099);
    expect(run.model_calls).toMatchObject([
      { step: 1, attempt: 1, input_tokens: 1_000, cached_input_tokens: 0, output_tokens: 100, cost_usd: 0.0045 },
      { step: 2, attempt: 1, input_tokens: 2_000, cached_input_tokens: 500, output_tokens: 50, cost_usd: 0.0054 },
    ]);
  });

  it('charges cached input as other input if it has no price, and never a part of a token', async () => {
    await setPrice({ input: 0.15, output: 0.6 });
    expect((await runWith(text(11, 7, 5))).cost_usd).toBe(0.00000585);
    expect((await runWith(text(11, 7, 5_000))).cost_usd).toBe(0.00000585);
  });

  it('stays what it was when the price changes or is removed', async () => {
    await setPrice({ input: 1, output: 1 });
    const before = await runWith(text(10, 10));
    await setPrice({ input: 100, output: 100 });
    const after = await runWith(text(10, 10));
    await setPrice();
    const without = await runWith(text(10, 10));
    const { items } = await succeed<RunPage>(app, 'RUN_LIST', {
      where: { field: ['agent_id'], operator: 'eq', value: agentId },
      orderBy: [{ field: ['created_at'], direction: 'asc' }],
    });
    expect(items.map(({ id, cost_usd }) => [id, cost_usd])).toEqual([
      [before.id, 0.00002],
      [after.id, 0.002],
      [without.id, null],
    ]);
    expect(items[0]).not.toHaveProperty('model_calls');
    const stats = await succeed<RunStats>(app, 'RUN_STATS', { agent_id: agentId });
    expect(stats.total).toMatchObject({ runs: 3, cost_usd: expect.closeTo(0.00202, 10), unpriced_runs: 1 });
    expect(stats.agents).toMatchObject([{ agent_id: agentId, cost_usd: stats.total.cost_usd, unpriced_runs: 1 }]);
    const { groups } = await succeed<UsageStats>(app, 'USAGE_STATS', { by: 'agent' });
    expect(groups).toContainEqual(
      expect.objectContaining({ group: agentId, cost_usd: expect.closeTo(0.00202, 10), unpriced_runs: 1 }),
    );
  });

  it('is zero, and not unknown, for a model that costs nothing', async () => {
    await setPrice({ input: 0, output: 0 });
    expect((await runWith(text(10, 10))).cost_usd).toBe(0);
    const { total } = await succeed<RunStats>(app, 'RUN_STATS', { agent_id: agentId });
    expect(total).toMatchObject({ cost_usd: 0, unpriced_runs: 0 });
  });

  it('is known for a model that counts parts of tokens, and the thread has whole ones', async () => {
    await setPrice(PRICE);
    const run = await runWith({ ...CALL, usage: { inputTokens: 12.25, outputTokens: 0 } }, text(12.25, 0));
    expect(run).toMatchObject({ status: 'completed', steps: 2 });
    const { items } = await succeed<RunPage>(app, 'RUN_LIST', {
      where: { field: ['agent_id'], operator: 'eq', value: agentId },
      orderBy: [{ field: ['total_tokens'], direction: 'desc' }],
    });
    expect(items.map(({ id }) => id)).toEqual([run.id]);
    const { item } = await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_GET', { id: thread.id });
    expect(item.total_tokens).toBe(25);
  });

  it('is that of the tier that answers', async () => {
    await setPrice({ input: 1, output: 0 });
    provider.script(text(1_000_000, 1));
    const { taskId } = await thread.ask('hello', { tier: 'fast' });
    expect(await detailsOf(taskId)).toMatchObject({ tier: 'fast', cost_usd: 1 });
  });

  it('continues over an approval, at the price of each call', async () => {
    await setPrice({ input: 1, output: 0 });
    thread = await ThreadClient.create(app, await createAskingAgent(app, connectionId, 'all'));
    provider.script({ ...CALL, usage: { inputTokens: 1_000, outputTokens: 1 } }, text(1_000, 1));
    const taskId = await thread.postMessage('hello');
    const waiting = await thread.waitFor(taskId, 'waiting');
    expect(waiting.cost_usd).toBe(0.001);
    await setPrice({ input: 2, output: 0 });
    const [approval] = waiting.pending_approvals;
    await answer(app, thread.id, approval?.id ?? '', { approved: true }).expect(202);
    await thread.waitFor(taskId, 'completed');
    expect(await detailsOf(taskId)).toMatchObject({
      attempt: 2,
      cost_usd: 0.003,
      model_calls: [
        { step: 1, attempt: 1, cost_usd: 0.001 },
        { step: 2, attempt: 2, cost_usd: 0.002 },
      ],
    });
  });
});

describe('the model calls of a run', () => {
  it('have a start, a duration, and their repetitions', async () => {
    await setPrice(PRICE);
    const run = await runWith(
      { kind: 'status', status: 503, headers: { 'retry-after-ms': '20' } },
      { ...CALL, deltas: ['a', 'b'], delayMs: 100 },
      text(10, 10),
    );
    const [first, second] = run.model_calls;
    expect([first?.retries, second?.retries]).toEqual([1, 0]);
    // Two pauses of the model, and one before the repetition.
    expect(first?.duration_ms).toBeGreaterThanOrEqual(215);
    const start = Date.parse(first?.started_at ?? '');
    expect(Date.parse(second?.started_at ?? '')).toBeGreaterThanOrEqual(start + (first?.duration_ms ?? 0) - 1);
    expect(first).toMatchObject({ error_code: null });
  });

  it('are recorded without a cost if they fail', async () => {
    await setPrice(PRICE);
    const refusal: Behaviour = { kind: 'status', status: 400 };
    const run = await runWith(CALL, refusal);
    expect(run).toMatchObject({ status: 'failed', cost_usd: 0.0045 });
    expect(run.model_calls[1]).toMatchObject({
      step: 2,
      input_tokens: null,
      output_tokens: null,
      cost_usd: null,
      error_code: run.error?.code,
    });
  });

  it('end with the run that is cancelled', async () => {
    provider.script({ kind: 'hang-after', deltas: ['so '] });
    const made = provider.requests.length;
    const stream = await thread.stream();
    const taskId = await thread.postMessage('hello');
    await eventually(() => expect(provider.requests.length).toBeGreaterThan(made));
    await thread.cancel(taskId).expect(202);
    await stream.collectUntilDone();
    expect((await detailsOf(taskId)).model_calls).toMatchObject([{ step: 1, error_code: 'interrupted' }]);
  });
});
