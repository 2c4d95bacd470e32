import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, createThread, LONG, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { newTenant, newTenantOfTwo, type Tenant } from '../../support/tenant.js';
import { startSecondOrganization } from '../../support/second-organization.js';

interface Posted {
  thread: ThreadClient;
  taskId: string;
}

async function post(app: Tenant, agentId: string, text: string): Promise<Posted> {
  const thread = await ThreadClient.create(app, agentId);
  return { thread, taskId: await thread.postMessage(text) };
}

const setLimits = async (app: Tenant, limits: object | null) => app.tool('ORGANIZATION_UPDATE', { limits }).expect(200);

/** How many runs of the organization have this status. */
async function count(app: Tenant, status: string, slug = app.org): Promise<number> {
  const rows: { runs: number }[] = await app.query(
    `SELECT count(*)::int AS runs FROM runs JOIN organizations o ON o.id = organization_id
        WHERE o.slug = $2 AND runs.status = $1`,
    [status, slug],
  );
  return rows[0]?.runs ?? 0;
}

/** Posts to a new thread of an organization. Returns the status of the answer. */
async function postIn(
  organization: Awaited<ReturnType<typeof startSecondOrganization>>,
  text: string,
): Promise<number> {
  const agent = { title: 'Agent', connections: [] };
  const { body } = await organization.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: agent }).expect(200);
  const data = { title: 'Thread', virtual_mcp_id: body.item.id as string };
  const made = await organization.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
  const posted = await organization.post(`agent-runtime/threads/${made.body.item.id}/messages`, {
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    agent: { id: body.item.id },
  });
  return posted.status;
}

describe('the limit of concurrent runs', () => {
  let app: Tenant;
  let second: Tenant;
  let agentId: string;

  beforeAll(async () => {
    [app, second] = await newTenantOfTwo();
    agentId = await createAgent(app);
  });
  afterAll(() => app?.close());

  it('makes more runs wait, in all workers together, until one ends', async () => {
    await setLimits(app, { concurrent_runs: 2 });
    const posting = [app, second];
    const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => post(posting[n % 2] ?? app, agentId, LONG)));
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
    for (const { thread } of runs) await thread.cancel();
  });

  it('answers all runs of an organization that can work on one at a time', async () => {
    await setLimits(app, { concurrent_runs: 1 });
    const runs = await Promise.all(Array.from({ length: 30 }, (_, n) => post(app, agentId, `hello ${n}`)));
    for (const { thread, taskId } of runs) await thread.waitFor(taskId, 'completed');
  });
});

describe('the limit of waiting runs', () => {
  let app: Tenant;
  let agentId: string;

  beforeAll(async () => {
    app = await newTenant();
    agentId = await createAgent(app);
  });
  afterAll(() => app?.close());

  it('refuses more of them, also at the same time, and takes repeated requests', async () => {
    await setLimits(app, { requests_per_minute: 10_000, concurrent_runs: 1, waiting_runs: 3 });
    await post(app, agentId, LONG);
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
});

describe('the limits of the operator', () => {
  let app: TestService;

  beforeAll(async () => {
    app = await startTestService({ env: { LIMIT_CONCURRENT_RUNS: '1', LIMIT_WAITING_RUNS: '1' } });
  });
  afterAll(() => app?.close());

  it('cap the runs of each organization', async () => {
    const agentId = await createAgent(app);
    const { thread, taskId } = await post(app, agentId, LONG);
    await thread.waitFor(taskId, 'running');
    await post(app, agentId, LONG);
    const third = await ThreadClient.create(app, agentId);
    expectProblem(await third.post(third.request(LONG)), 429, 'too_many_runs');

    const other = await startSecondOrganization(app, 'other');
    const started = await postIn(other, LONG);
    expect(started).toBe(202);
    await eventually(async () => expect(await count(app, 'running', 'other')).toBe(1));
    expect([await count(app, 'running'), await count(app, 'queued')]).toEqual([1, 1]);
  });
});

describe('an organization with many waiting runs', () => {
  let app: TestService;

  beforeAll(async () => {
    app = await startTestService({ env: { RUN_CONCURRENCY: '4' } });
  });
  afterAll(() => app?.close());

  it.each([
    ['as many as the worker has slots', 'busy', null],
    ['one at a time', 'limited', { concurrent_runs: 1 }],
  ])('does not delay the run of another, with %s in progress', async (_, name, limits) => {
    const agentId = await createAgent(app);
    await setLimits(app, limits);
    const threads = await Promise.all(Array.from({ length: 20 }, () => createThread(app, agentId)));
    const many = threads.map((id) => new ThreadClient(app, agentId, id));
    for (const thread of many) for (let n = 0; n < 4; n++) await thread.postMessage(LONG);
    const other = await startSecondOrganization(app, `other-of-${name}`);
    expect(await count(app, 'queued')).toBeGreaterThan(60);

    // It does not need the end of any of the many: an organization cannot take all slots.
    expect(await postIn(other, 'hello')).toBe(202);
    await eventually(async () => expect(await count(app, 'completed', other.slug)).toBe(1));
    expect(await count(app, 'queued')).toBeGreaterThan(60);
    for (const thread of many) await thread.cancel();
  });
});
