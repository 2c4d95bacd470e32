import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createAgent, createThread, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';

const LONG = '/wait 600000';

let apps: TestService[];
let agentId: string;

beforeEach(() => {
  apps = [];
});
afterEach(async () => {
  for (const app of apps.toReversed()) await app.close();
});

async function start(env: Record<string, string> = {}): Promise<TestService> {
  const database = apps[0]?.database;
  const app = await startTestService({ env, ...(database && { database }) });
  apps.push(app);
  if (database === undefined) agentId = await createAgent(app);
  return app;
}

interface Posted {
  thread: ThreadClient;
  taskId: string;
}

async function post(app: TestService, text: string): Promise<Posted> {
  const thread = await ThreadClient.create(app, agentId);
  return { thread, taskId: await thread.postMessage(text) };
}

const setLimits = async (app: TestService, limits: object | null) =>
  app.tool('ORGANIZATION_UPDATE', { limits }).expect(200);

/** How many runs of the organization have this status. */
async function count(app: TestService, status: string, slug = 'default'): Promise<number> {
  const rows: { runs: number }[] = await app.query(
    `SELECT count(*)::int AS runs FROM runs JOIN organizations o ON o.id = organization_id
        WHERE o.slug = $2 AND runs.status = $1`,
    [status, slug],
  );
  return rows[0]?.runs ?? 0;
}

describe('the limit of concurrent runs', () => {
  it('makes more runs wait, in all workers together, until one ends', async () => {
    const app = await start();
    const second = await start();
    await setLimits(app, { concurrent_runs: 2 });
    const posting = [app, { ...app, url: second.url }];
    const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => post(posting[n % 2] ?? app, LONG)));
    await eventually(async () => expect(await count(app, 'running')).toBe(2));
    expect(await count(app, 'queued')).toBe(4);
    for (let ended = 1; ended <= 3; ended++) {
      const statuses = await Promise.all(runs.map(async (run) => ({ ...run, ...(await run.thread.run(run.taskId)) })));
      const running = statuses.find(({ status }) => status === 'running');
      await running?.thread.cancel(running.taskId).expect(202);
      await eventually(async () => {
        const [busy, over] = [await count(app, 'running'), await count(app, 'cancelled')];
        if (busy > 2) throw new Error(`${busy} runs are in progress.`);
        expect([busy, over]).toEqual([2, ended]);
      });
    }
    await setLimits(app, null);
  });

  it('answers all runs of an organization that can work on one at a time', async () => {
    const app = await start();
    await setLimits(app, { concurrent_runs: 1 });
    const runs = await Promise.all(Array.from({ length: 30 }, (_, n) => post(app, `hello ${n}`)));
    for (const { thread, taskId } of runs) await thread.waitFor(taskId, 'completed');
  });

  it('can be capped by the operator', async () => {
    const app = await start({ LIMIT_CONCURRENT_RUNS: '1' });
    await Promise.all([post(app, LONG), post(app, LONG)]);
    await eventually(async () => expect(await count(app, 'running')).toBe(1));
    const other = await startSecondOrganization(app, 'other');
    expect(other.slug).toBe('other');
    expect(await count(app, 'queued')).toBe(1);
  });
});

describe('the limit of waiting runs', () => {
  it('refuses more of them, also at the same time, and takes repeated requests', async () => {
    const app = await start();
    await setLimits(app, { requests_per_minute: 10_000, concurrent_runs: 1, waiting_runs: 3 });
    await post(app, LONG);
    const threads = await Promise.all(Array.from({ length: 8 }, () => ThreadClient.create(app, agentId)));
    const key = { 'idempotency-key': 'once' };
    // Credentials, and the limits with them, are cached for less than a second.
    await eventually(async () => expect((await app.tool('API_KEY_LIST')).headers['ratelimit']).toBeDefined());
    const answers = await Promise.all(threads.map((thread) => thread.post(thread.request(LONG), { headers: key })));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([202, 202, 202, 429, 429, 429, 429, 429]);
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expectProblem(answer, 429, 'too_many_runs');
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    }
    const taken = answers.findIndex(({ status }) => status === 202);
    const repeated = await threads[taken]?.post(threads[taken].request(LONG), { headers: key });
    expect(repeated?.status).toBe(202);
    expect(repeated?.body).toEqual(answers[taken]?.body);
    expect(await count(app, 'queued')).toBe(3);
  });

  it('can be capped by the operator', async () => {
    const app = await start({ LIMIT_WAITING_RUNS: '1', RUN_CONCURRENCY: '1' });
    const { thread, taskId } = await post(app, LONG);
    await thread.waitFor(taskId, 'running');
    await post(app, LONG);
    const third = await ThreadClient.create(app, agentId);
    expectProblem(await third.post(third.request(LONG)), 429, 'too_many_runs');
  });
});

describe('an organization with many waiting runs', () => {
  it.each([
    ['as many as the worker has slots', null],
    ['one at a time', { concurrent_runs: 1 }],
  ])('does not delay the run of another, with %s in progress', async (_what, limits) => {
    const app = await start({ RUN_CONCURRENCY: '4' });
    await setLimits(app, limits);
    const threads = await Promise.all(Array.from({ length: 20 }, () => createThread(app, agentId)));
    const many = threads.map((id) => new ThreadClient(app, agentId, id));
    for (const thread of many) for (let n = 0; n < 8; n++) await thread.postMessage('/wait 400');
    const other = await startSecondOrganization(app, 'other');
    expect(await count(app, 'queued')).toBeGreaterThan(120);

    const agent = { title: 'Agent', connections: [] };
    const { body } = await other.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: agent }).expect(200);
    const data = { title: 'Thread', virtual_mcp_id: body.item.id as string };
    const made = await other.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
    const ended = await count(app, 'completed');
    await other.post(`agent-runtime/threads/${made.body.item.id}/messages`, {
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      agent: { id: body.item.id },
    });
    await eventually(async () => expect(await count(app, 'completed', 'other')).toBe(1));
    // The runs that were in progress, and those that started while this test looked.
    expect((await count(app, 'completed')) - ended).toBeLessThan(40);
    expect(await count(app, 'queued')).toBeGreaterThan(80);
  });
});
