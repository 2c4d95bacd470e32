import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SpendUsage, UsageStats } from '../../../src/runtime/runs/usage.dto.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { ServiceProcess } from '../../support/service-process.js';
import { postgresStreams, type StreamBackend } from '../../support/stream-backends.js';

/** `SPENDING_RUNS=300` makes a trial of it. A third of the runs can be paid. */
const RUNS = Number(process.env['SPENDING_RUNS'] ?? 30);
const LIMIT_USD = RUNS / 3;
const KILLS = Math.max(2, RUNS / 30);
const POSTS_AT_ONCE = 10;
const TIME_LIMIT_MS = 240_000 + RUNS * 1_000;
const ENV = { RUN_LOCK_MS: '12000', RUN_CONCURRENCY: '8' };

let backend: StreamBackend;
let api: TestApp;
let provider: FakeOpenAI;
let agentId: string;
let answered = 0;
const workers: ServiceProcess[] = [];

beforeAll(async () => {
  // Each request costs a dollar, as much as is reserved for it.
  const answer = () => {
    answered += 1;
    return {
      kind: 'text' as const,
      deltas: ['a', 'b', 'c', 'd'],
      delayMs: 100,
      usage: { inputTokens: 1, outputTokens: 100 },
    };
  };
  [backend, provider] = await Promise.all([postgresStreams(), startFakeOpenAI({ answer })]);
  api = await backend.start({ ...ENV, ROLE: 'api' });
  agentId = await createAgent(api, [], { spend: { usd_per_day: LIMIT_USD } });
  const data = { title: 'Fake', kind: 'openai-compatible', base_url: provider.baseUrl };
  const { id } = (await succeed<{ item: { id: string } }>(api, 'AI_PROVIDER_CREATE', { data })).item;
  const price = { input: 0, output: 10_000 };
  const smart = { provider_id: id, model: 'large', price, max_output_tokens: 100 };
  await succeed(api, 'MODEL_TIERS_SET', { data: { smart } });
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  await backend?.close();
  await provider?.close();
});

async function window(): Promise<SpendUsage> {
  const { spend } = await succeed<UsageStats>(api, 'USAGE_STATS', { by: 'day' });
  const [found] = spend.filter(({ id }) => id === agentId);
  if (found === undefined) throw new Error('The agent has no limit.');
  return found;
}

async function runsIn(status: string): Promise<{ id: string }[]> {
  const where = { field: ['status'], operator: 'eq', value: status };
  return (await succeed<{ items: { id: string }[] }>(api, 'RUN_LIST', { where, limit: 1000 })).items;
}

/** A start takes long on a busy machine. */
async function startWorker(): Promise<ServiceProcess> {
  const worker = new ServiceProcess({ ...backend.env, ...ENV, ROLE: 'worker', LOG_LEVEL: 'info' });
  await worker.printed(/The service is ready/);
  return worker;
}

describe('a spending limit', () => {
  it(
    'holds while workers are killed and runs are cancelled, and nothing stays reserved',
    async () => {
      workers.push(...(await Promise.all([startWorker(), startWorker()])));
      const statuses = new Map<number, number>();
      let left = RUNS;
      const post = async (): Promise<void> => {
        while (left-- > 0) {
          const thread = await ThreadClient.create(api, agentId);
          const { status } = await thread.post(thread.request('hello'));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      const posting = Promise.all(Array.from({ length: POSTS_AT_ONCE }, post));
      for (let kill = 0; kill < KILLS; kill++) {
        const [doomed] = workers.splice(0, 1) as [ServiceProcess];
        const begun = answered;
        await eventually(async () => expect(answered > begun || (await runsIn('queued')).length === 0).toBe(true));
        await doomed.kill('SIGKILL');
        const [orphan] = await runsIn('running');
        if (orphan !== undefined) await api.tool('RUN_CANCEL', { id: orphan.id });
        workers.push(await startWorker());
      }
      await posting;
      await eventually(async () => {
        for (const status of ['queued', 'running']) expect(await runsIn(status)).toEqual([]);
      }, TIME_LIMIT_MS / 2);

      const { used_usd: used, reserved_usd: reserved } = await window();
      const ended = await Promise.all(
        ['completed', 'failed', 'cancelled'].map(async (status) => (await runsIn(status)).length),
      );
      const figures = {
        RUNS,
        LIMIT_USD,
        KILLS,
        posts: Object.fromEntries(statuses),
        ended,
        requests: answered,
        used,
        reserved,
      };
      if (RUNS > 30) console.info(figures);
      expect([...statuses.keys()].every((status) => status === 202 || status === 429)).toBe(true);
      expect(statuses.get(429)).toBeGreaterThan(0);
      expect(ended[0]).toBeGreaterThan(0);
      expect(reserved).toBe(0);
      expect(used).toBeLessThanOrEqual(LIMIT_USD);
      // Each request that the provider has got was paid for.
      expect(answered).toBeLessThanOrEqual(used);
    },
    TIME_LIMIT_MS,
  );
});
