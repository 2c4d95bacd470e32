import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestService } from '../../support/service.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

/** With days of one second, an hour: older than anything that a test has just made. */
const HOUR = 3_600;
const MANY = 3_000;
const MANY_ID = /^many-/;
/** How many post at once to threads that are about to be deleted. */
const CALLERS = 4;
const LONG_AGO = new Date(Date.now() - 3 * 3_600_000);

const app = useStarted(() => startTestService({ env: { RETENTION_DAY_MS: '1000' } }));
let agentId: string;
let organizationId: string;

beforeAll(async () => {
  agentId = await createAgent(app);
  organizationId = (await app.tool('ORGANIZATION_GET').expect(200)).body.item.id;
});

const retain = async (retention: unknown) => app.tool('ORGANIZATION_UPDATE', { retention });

async function insertOldThreads(organization: string, prefix: string, count: number): Promise<void> {
  await app.query(
    `INSERT INTO threads (organization_id, id, title, virtual_mcp_id, status, created_at, updated_at)
     SELECT $1, $2 || n, 'old', $3, 'completed', at, at
       FROM generate_series(1, $5::int) n, LATERAL (SELECT $4::timestamptz + n * interval '1 millisecond' AS at) changed`,
    [organization, prefix, agentId, LONG_AGO, count],
  );
}

async function makeOld(threadId: string, { isThreadOld }: { isThreadOld: boolean }): Promise<void> {
  const values = [threadId, LONG_AGO];
  await app.query('UPDATE runs SET created_at = $2, updated_at = $2 WHERE thread_id = $1', values);
  if (isThreadOld) await app.query('UPDATE threads SET created_at = $2, updated_at = $2 WHERE id = $1', values);
}

async function threadIds(organization: string): Promise<string[]> {
  const query = 'SELECT id FROM threads WHERE organization_id = $1 ORDER BY id';
  const rows: { id: string }[] = await app.query(query, [organization]);
  return rows.map(({ id }) => id);
}

describe('the retention of an organization', () => {
  it('keeps everything by default, can be set in part, and is cleared with null', async () => {
    expect((await app.tool('ORGANIZATION_GET').expect(200)).body.item.retention).toEqual({});
    expect((await retain({ threads_days: 30_000 })).body.item.retention).toEqual({ threads_days: 30_000 });
    const both = { threads_days: 30_000, runs_days: 20_000 };
    expect((await retain({ runs_days: 20_000 })).body.item.retention).toEqual(both);
    expect((await retain({ threads_days: null })).body.item.retention).toEqual({ runs_days: 20_000 });
    expect((await retain(null)).body.item.retention).toEqual({});
  });

  it.each([{ threads_days: 0 }, { runs_days: -1 }, { runs_days: 1.5 }, { days: 1 }])(
    'must hold whole numbers from 1: not %j',
    async (retention) => {
      expect((await retain(retention)).status).toBe(400);
    },
  );

  it('deletes old threads in batches, and keeps changed ones, those with an open run, and those of others', async () => {
    const other = await startSecondOrganization(app, 'keeper');
    await insertOldThreads(other.id, 'old-', 3);
    await insertOldThreads(organizationId, 'old-', 45);
    await insertOldThreads(organizationId, 'renamed-', 1);
    await app.tool('COLLECTION_THREADS_UPDATE', { id: 'renamed-1', data: { title: 'new' } }).expect(200);
    const [ended, open] = [await ThreadClient.create(app, agentId), await ThreadClient.create(app, agentId)];
    await ended.ask('hello');
    const openRun = await open.postMessage('/wait 600000');
    await open.waitFor(openRun, 'running');
    for (const { id } of [ended, open]) await makeOld(id, { isThreadOld: true });
    expect(await threadIds(organizationId)).toHaveLength(48);

    await retain({ threads_days: HOUR });
    await eventually(async () => (await threadIds(organizationId)).length <= 2);
    expect(await threadIds(organizationId)).toEqual([open.id, 'renamed-1'].toSorted());
    expect(await threadIds(other.id)).toHaveLength(3);
    expect(await app.query('SELECT FROM messages WHERE thread_id = $1', [ended.id])).toEqual([]);
    expect((await open.run(openRun)).status).toBe('running');
    await retain(null);
    await open.cancel(openRun).expect(202);
  });

  it('deletes what was recorded of model calls, and keeps their runs', async () => {
    await app.tool('ORGANIZATION_UPDATE', { model_recording: 'full' }).expect(200);
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('hello');
    const recordings = () => app.query('SELECT id FROM model_recordings WHERE run_id = $1', [taskId]);
    await eventually(async () => (await recordings()).length === 1);
    // A day of this service is a second.
    await retain({ model_calls_days: 1 });
    await eventually(async () => (await recordings()).length === 0);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', model_calls: [{}] });
    await retain(null);
    await app.tool('ORGANIZATION_UPDATE', { model_recording: 'off' }).expect(200);
  });

  it('works next to its callers: runs complete, and a message to an old thread is answered or refused', async () => {
    await insertOldThreads(organizationId, 'many-', MANY);
    const left = async (): Promise<number> => (await threadIds(organizationId)).filter((id) => MANY_ID.test(id)).length;
    const posts: { readonly thread: ThreadClient; readonly status: number; readonly taskId: string }[] = [];
    // The oldest are deleted first. Callers who begin with the newest come to threads that are deleted in that moment.
    const postUntilRefused = async (caller: number): Promise<void> => {
      for (let n = MANY - caller; n > 0; n -= CALLERS) {
        const thread = new ThreadClient(app, agentId, `many-${n}`);
        const { status, body } = await thread.post(thread.request('hello'));
        const { taskId = '' } = body as { taskId?: string };
        posts.push({ thread, status, taskId });
        if (status !== 202) return;
        await thread.waitFor(taskId, 'completed', 'failed');
      }
    };
    const posting = Array.from({ length: CALLERS }, (_, caller) => postUntilRefused(caller));
    await eventually(() => posts.length >= CALLERS);
    await retain({ threads_days: HOUR });
    await Promise.all(posting);
    const accepted = posts.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThanOrEqual(CALLERS);
    const refused = posts.filter(({ status }) => status !== 202);
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: CALLERS }, () => 404));
    for (const { thread, taskId } of accepted) {
      expect((await thread.waitFor(taskId, 'completed', 'failed')).status).toBe('completed');
      expect((await thread.answer(taskId)).parts).toContainEqual(expect.objectContaining({ text: 'You said: hello' }));
    }
    await eventually(async () => expect(await left()).toBe(accepted.length));
    await retain(null);
  }, 60_000);

  it('deletes old ended runs, and keeps their messages and threads', async () => {
    const [old, recent] = [await ThreadClient.create(app, agentId), await ThreadClient.create(app, agentId)];
    const [first, second] = [await old.ask('one'), await recent.ask('two')];
    const open = await ThreadClient.create(app, agentId);
    const openRun = await open.postMessage('/wait 600000');
    await open.waitFor(openRun, 'running');
    const messages = await old.messages();
    for (const { id } of [old, open]) await makeOld(id, { isThreadOld: false });

    await retain({ runs_days: HOUR });
    await eventually(async () => {
      const { status } = await app.tool('RUN_GET', { id: first.taskId });
      expect(status).toBe(404);
    });
    expect(await old.messages()).toEqual(messages);
    expect((await recent.run(second.taskId)).status).toBe('completed');
    expect((await open.run(openRun)).status).toBe('running');
    await old.ask('three');
    await retain(null);
    await open.cancel(openRun).expect(202);
  });
});
