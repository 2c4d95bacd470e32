import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { createAgent, LONG, serveTier, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { MistralApi } from '../../support/model-apis/mistral-api.js';
import { startModelServer } from '../../../src/boot/testing/model-server.js';
import { type FakeOpenAI, PROVIDER_SECRET, startFakeOpenAI } from '../../support/fake-openai.js';
import { scrape, type Sample, valueOf } from '../../support/prometheus.js';
import { eventually } from '../../support/eventually.js';

let app: TestApp;
let provider: FakeOpenAI;

beforeAll(async () => {
  [app, provider] = await Promise.all([startTestApp({ env: { RUN_CONCURRENCY: '1' } }), startFakeOpenAI()]);
});
afterAll(async () => {
  await app?.close();
  await provider?.close();
});

async function newThread(): Promise<ThreadClient> {
  return ThreadClient.create(app, await createAgent(app));
}

/** The increase of each counter since the earlier reading. */
function growth(before: readonly Sample[], after: readonly Sample[], name: string, labels = {}): number {
  return (valueOf(after, name, labels) ?? 0) - (valueOf(before, name, labels) ?? 0);
}

/** Reads the metrics until one of them has this value: counts from the database are cached briefly. */
function scrapeUntil(expected: number, read: (samples: Sample[]) => number | undefined): Promise<Sample[]> {
  return eventually(async () => {
    const samples = await scrape(app);
    expect(read(samples)).toBe(expected);
    return samples;
  });
}

describe('the metrics of runs', () => {
  it('count runs by outcome, with the reason of a failure', async () => {
    const before = await scrape(app);
    const thread = await newThread();
    await thread.ask('hello');
    await thread.ask('/fail words of the failure');
    const running = await thread.postMessage(LONG);
    const waiting = await thread.postMessage('never started');
    await thread.waitFor(running, 'running');
    await thread.cancel(waiting).expect(202);
    await thread.cancel(running).expect(202);
    await thread.waitFor(running, 'cancelled');
    const after = await scrapeUntil(4, (now) => growth(before, now, 'signalbox_runs_ended_total'));

    expect(growth(before, after, 'signalbox_runs_ended_total', { status: 'completed' })).toBe(1);
    expect(growth(before, after, 'signalbox_runs_ended_total', { status: 'cancelled' })).toBe(2);
    const failures = after.filter(
      ({ name, labels }) => name === 'signalbox_runs_ended_total' && labels['status'] === 'failed',
    );
    expect(failures).toMatchObject([{ value: 1, labels: { error_type: expect.stringMatching(/^[a-z_]+$/) } }]);
    // The run that never started has no duration and no waiting time.
    expect(growth(before, after, 'signalbox_run_duration_seconds_count')).toBe(3);
    expect(growth(before, after, 'signalbox_run_queue_wait_seconds_count')).toBe(3);
    expect(growth(before, after, 'signalbox_run_time_to_first_chunk_seconds_count')).toBeGreaterThanOrEqual(1);
  });

  it('report the number of open runs and the age of the oldest', async () => {
    const [one, other] = [await newThread(), await newThread()];
    const running = await one.postMessage('/wait 60000');
    const blocked = await one.postMessage('behind it');
    const queued = await other.postMessage('without a slot');
    await one.waitFor(running, 'running');
    const samples = await scrapeUntil(1, (now) => valueOf(now, 'signalbox_runs_open', { state: 'running' }));

    expect(valueOf(samples, 'signalbox_runs_open', { state: 'blocked' })).toBe(1);
    expect(valueOf(samples, 'signalbox_runs_open', { state: 'queued' })).toBe(1);
    expect(valueOf(samples, 'signalbox_run_queue_age_seconds')).toBeGreaterThan(0);
    for (const taskId of [queued, blocked, running]) await succeed(app, 'RUN_CANCEL', { id: taskId });
    await scrapeUntil(0, (now) => valueOf(now, 'signalbox_runs_open'));
  });

  it('count tokens and model calls by provider and model', async () => {
    const thread = await newThread();
    await serveTier(app, 'smart', provider, { model: 'some/model-1' }, { api_key: PROVIDER_SECRET });
    const { taskId } = await thread.ask('hello');
    const { usage } = await thread.run(taskId);
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: null } });
    const samples = await scrape(app);
    const labels = { gen_ai_provider_name: 'openai-compatible', gen_ai_request_model: 'some/model-1' };

    expect(usage?.inputTokens).toBeGreaterThan(0);
    for (const [type, tokens] of [
      ['input', usage?.inputTokens],
      ['output', usage?.outputTokens],
    ] as const) {
      expect(valueOf(samples, 'gen_ai_client_token_usage_sum', { ...labels, gen_ai_token_type: type })).toBe(tokens);
    }
    expect(valueOf(samples, 'gen_ai_client_operation_duration_seconds_count', labels)).toBe(1);
    expect(valueOf(samples, 'gen_ai_client_operation_time_to_first_chunk_seconds_count', labels)).toBe(1);
  });

  it('count the call of a model that fails, and that of its fallback', async () => {
    const failing = await startModelServer(new MistralApi('key'), () => ({ kind: 'status', status: 500 }));
    const ids = [];
    for (const data of [
      { title: 'Failing', kind: 'mistral', base_url: failing.baseUrl, api_key: 'key' },
      { title: 'Fallback', kind: 'openai-compatible', base_url: provider.baseUrl },
    ]) {
      ids.push((await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data })).item.id);
    }
    const fallbacks = [{ provider_id: ids[1], model: 'second' }];
    const smart = { provider_id: ids[0], model: 'first', fallbacks };
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart } });
    await (await newThread()).ask('hello');
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: null } });
    await failing.close();
    const counted = (await scrape(app)).filter(
      ({ name, labels }) =>
        name === 'gen_ai_client_operation_duration_seconds_count' &&
        ['first', 'second'].includes(labels['gen_ai_request_model'] ?? ''),
    );
    expect(counted).toMatchObject([
      { value: 1, labels: { gen_ai_provider_name: 'mistral_ai', error_type: 'provider_unavailable' } },
      { value: 1, labels: { gen_ai_provider_name: 'openai-compatible' } },
    ]);
    expect(counted[1]?.labels).not.toHaveProperty('error_type');
  });

  it('contain no id of a thread, an agent, a run, an organization or a key', async () => {
    const thread = await newThread();
    const { taskId } = await thread.ask('hello');
    const text = JSON.stringify((await scrape(app)).filter(({ name }) => /^(signalbox|gen_ai|http|db)_/.test(name)));

    for (const id of [thread.id, thread.agentId, taskId, app.apiKey]) expect(text).not.toContain(id);
    expect(text).not.toContain('"default"');
  });
});

describe('the other metrics of the service', () => {
  it('count open streams', async () => {
    const thread = await newThread();
    const streams = [await thread.stream(), await thread.stream()];
    expect(valueOf(await scrape(app), 'signalbox_streams_open')).toBe(2);
    for (const stream of streams) stream.close();
    await scrapeUntil(0, (now) => valueOf(now, 'signalbox_streams_open'));
  });

  it('count HTTP requests by method, route and status, with bounded labels', async () => {
    const count = 'http_server_request_duration_seconds_count';
    const before = await scrape(app);
    await app.tool('API_KEY_LIST').expect(200);
    await app.tool('NO_SUCH_TOOL').expect(404);
    for (const path of ['/nowhere', '/elsewhere']) await supertest(app.url).get(path).expect(404);
    const after = await scrape(app);
    const tools = { http_route: '/api/:org/tools/:name', http_request_method: 'POST' };

    expect(growth(before, after, count, { ...tools, http_response_status_code: '200' })).toBe(1);
    expect(growth(before, after, count, { ...tools, http_response_status_code: '404' })).toBe(1);
    const unknown = after.filter(({ name, labels }) => name === count && labels['http_route'] === undefined);
    expect(unknown).toMatchObject([{ labels: { http_request_method: 'GET', http_response_status_code: '404' } }]);
    expect(unknown[0]?.value).toBe(2);
  });

  it('count requests of MCP routes too', async () => {
    const labels = { http_route: '/api/:org/mcp/:connectionId', http_response_status_code: '401' };
    await supertest(app.url).post('/api/default/mcp/01890a5d-ac96-774b-bcce-b302099a8057').send({}).expect(401);
    expect(valueOf(await scrape(app), 'http_server_request_duration_seconds_count', labels)).toBe(1);
  });

  it('report the pool of database connections', async () => {
    const samples = await scrape(app);
    const pool = { db_client_connection_pool_name: 'application' };

    expect(valueOf(samples, 'db_client_connection_max', pool)).toBeGreaterThan(0);
    expect(
      valueOf(samples, 'db_client_connection_count', { ...pool, db_client_connection_state: 'idle' }),
    ).toBeGreaterThan(0);
    expect(
      valueOf(samples, 'db_client_connection_count', { ...pool, db_client_connection_state: 'used' }),
    ).toBeGreaterThanOrEqual(0);
    expect(valueOf(samples, 'db_client_connection_pending_requests', pool)).toBe(0);
  });
});
