import { afterEach, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { RunPosting } from '../../../src/runtime/runs/records/run-posting.js';
import { connect, createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Upstreams } from '../../support/upstreams.js';

let service: TestApp | undefined;
const upstreams = new Upstreams();

afterEach(async () => {
  await service?.close();
  await upstreams.close();
});

async function jobsAdded({ app }: TestApp): Promise<number> {
  const [row] = await app.get(DataSource).query(`SELECT count(*)::int AS jobs FROM bullmq.event WHERE event = 'added'`);
  return row.jobs as number;
}

/** The largest number of runs that were in progress at one time. */
async function mostAtOnce({ app }: TestApp): Promise<number> {
  const [row] = await app.get(DataSource).query(`
    SELECT max((SELECT count(*) FROM runs other WHERE other.started_at <= runs.started_at AND other.finished_at > runs.started_at))::int AS most
      FROM runs`);
  return row.most as number;
}

async function post(app: TestApp, agentId: string, text: string): Promise<{ thread: ThreadClient; taskId: string }> {
  const thread = await ThreadClient.create(app, agentId);
  return { thread, taskId: await thread.postMessage(text) };
}

it('a process with free slots starts the runs that it accepts without a job, and their successors', async () => {
  service = await startTestApp();
  const { thread, taskId } = await post(service, await createAgent(service), '/wait 100');
  const next = await thread.postMessage('next');
  await thread.waitFor(taskId, 'completed');
  await thread.waitFor(next, 'completed');
  expect(await jobsAdded(service)).toBe(0);
});

it('the others become jobs, and both kinds together never use more than the slots', async () => {
  service = await startTestApp({ env: { RUN_CONCURRENCY: '3' } });
  const held = await upstreams.holding();
  const agentId = await createAgent(service, [await connect(service, held.url, 'Holding')]);
  const app = service;
  const posted = await Promise.all(Array.from({ length: 15 }, () => post(app, agentId, '/call hold {}')));
  expect(await jobsAdded(service)).toBeGreaterThan(0);
  held.release();
  for (const { thread, taskId } of posted) await thread.waitFor(taskId, 'completed');
  expect(await mostAtOnce(service)).toBe(3);
});

it('a process that only accepts runs makes a job of each', async () => {
  service = await startTestApp({ env: { ROLE: 'api' } });
  const { thread, taskId } = await post(service, await createAgent(service), 'hello');
  expect((await thread.run(taskId)).status).toBe('queued');
  expect(await jobsAdded(service)).toBe(1);
});

it('a run that was started by a request whose response was lost continues before its worker counts as lost', async () => {
  service = await startTestApp();
  const thread = await ThreadClient.create(service, await createAgent(service));
  const posting = service.app.get(RunPosting);
  const postRun = posting.postRun.bind(posting);
  posting.postRun = async (...request) => {
    await postRun(...request);
    throw new Error('Connection terminated unexpectedly');
  };
  expect((await thread.post(thread.request('hello'))).status).toBeGreaterThanOrEqual(500);
  posting.postRun = postRun;
  const { id } = await service.app
    .get(DataSource)
    .query('SELECT id FROM runs')
    .then(([run]) => run as { id: string });
  expect(await thread.waitFor(id, 'completed')).toMatchObject({ attempt: 2 });
});
