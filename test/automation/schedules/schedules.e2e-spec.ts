import { beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import type { ScheduleEntity } from '../../../src/automation/schedules/schedule.entity.js';
import { ScheduleRepository } from '../../../src/automation/schedules/schedule.repository.js';
import { Scheduler } from '../../../src/automation/schedules/scheduler.js';
import { createAgent, createThread, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { AUDIENCE, startIssuer } from '../../support/issuer-server.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';
import { eventually } from '../../support/eventually.js';
import { createSchedule, getSchedule, makeDue, runsOf, scheduleWhen } from './schedules.support.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(startTestApp);
let agentId: string;

beforeAll(async () => {
  agentId = await createAgent(app);
});

describe('a time that has come', () => {
  it('posts the message to a new thread, and the run and its webhooks name the schedule', async () => {
    const receiver = await WebhookReceiver.start();
    try {
      await succeed(app, 'WEBHOOK_CREATE', { data: { url: receiver.url, events: ['run.completed'] } });
      const { id } = await createSchedule(app, agentId, { tier: 'fast' });
      await makeDue(app, [id]);
      const { last_run, last_run_at, next_run_at } = await scheduleWhen(
        app,
        id,
        (schedule) => schedule.last_run?.status === 'completed',
      );
      expect(Date.parse(next_run_at ?? '')).toBeGreaterThan(Date.parse(last_run_at ?? ''));
      const runs = await runsOf(app, id);
      expect(runs).toMatchObject([{ id: last_run?.id, schedule_id: id, agent_id: agentId, tier: 'fast' }]);
      const thread = new ThreadClient(app, agentId, runs[0]?.thread_id ?? '');
      expect(await thread.messages()).toMatchObject([
        { role: 'user', parts: [{ type: 'text', text: 'scheduled hello' }] },
        { role: 'assistant' },
      ]);
      const [message] = await receiver.messagesOf(last_run?.id ?? '');
      expect(JSON.parse(message?.body ?? '')).toMatchObject({ data: { run_id: last_run?.id, schedule_id: id } });
    } finally {
      await receiver.close();
    }
  });

  it('posts the message to its thread', async () => {
    const thread_id = await createThread(app, agentId);
    const { id } = await createSchedule(app, agentId, { thread_id });
    await makeDue(app, [id]);
    await scheduleWhen(app, id, ({ last_run }) => last_run?.status === 'completed');
    expect(await runsOf(app, id)).toMatchObject([{ thread_id }]);
  });

  it('is skipped while the previous run is open', async () => {
    const { id } = await createSchedule(app, agentId, { message: '/wait 60000' });
    await makeDue(app, [id]);
    const { last_run } = await scheduleWhen(app, id, (schedule) => schedule.last_run?.status === 'running');
    await makeDue(app, [id]);
    const skipped = await scheduleWhen(app, id, ({ last_skipped_at }) => last_skipped_at !== null);
    expect(skipped).toMatchObject({
      last_skip_reason: 'The previous run was still open.',
      last_run: { id: last_run?.id },
    });
    expect(Date.parse(skipped.next_run_at ?? '')).toBeGreaterThan(Date.now());
    expect(await runsOf(app, id)).toHaveLength(1);
    await succeed(app, 'RUN_CANCEL', { id: last_run?.id });
  });

  it('queues a run behind the open one if the schedule says so', async () => {
    const thread_id = await createThread(app, agentId);
    const { id } = await createSchedule(app, agentId, { message: '/wait 60000', overlap: 'queue', thread_id });
    await makeDue(app, [id]);
    const { last_run } = await scheduleWhen(app, id, (schedule) => schedule.last_run?.status === 'running');
    await makeDue(app, [id]);
    await scheduleWhen(app, id, (schedule) => schedule.last_run?.status === 'queued');
    expect(await runsOf(app, id)).toMatchObject([{ id: last_run?.id, status: 'running' }, { status: 'queued' }]);
    await new ThreadClient(app, agentId, thread_id).cancel().expect(202);
  });

  it.each([
    [true, 1, null],
    [false, 0, 'The service did not run at this time.'],
  ])('is, when it was missed and catch_up is %s, made up for %i times', async (catch_up, count, reason) => {
    const { id } = await createSchedule(app, agentId, { catch_up });
    await makeDue(app, [id], 3600);
    const after = await scheduleWhen(app, id, ({ next_run_at }) => Date.parse(next_run_at ?? '') > Date.now());
    expect(after.last_skip_reason).toBe(reason);
    expect(await runsOf(app, id)).toHaveLength(count);
  });

  it('is handled without another pause behind many others', async () => {
    const { id } = await createSchedule(app, agentId);
    const database = app.app.get(DataSource);
    await database.query(
      `INSERT INTO schedules SELECT (jsonb_populate_record(schedules, jsonb_build_object('id', gen_random_uuid(), 'title', 'One of many',
           'next_run_at', now() - interval '1 hour'))).* FROM schedules, generate_series(1, 650) WHERE id = $1`,
      [id],
    );
    const scheduler = app.app.get(Scheduler) as unknown as { poll(signal: AbortSignal): Promise<void> };
    await scheduler.poll(new AbortController().signal);
    const [due]: { count: number }[] = await database.query(
      'SELECT count(*)::integer FROM schedules WHERE enabled AND next_run_at <= now()',
    );
    // The service looks for due schedules too, and posts the runs of four at a time.
    expect(due?.count).toBeLessThanOrEqual(4);
    await database.query(`DELETE FROM schedules WHERE title = 'One of many'`);
  });

  it('does not come while the schedule is disabled, and SCHEDULE_RUN works nevertheless', async () => {
    const { id, next_run_at } = await createSchedule(app, agentId, { enabled: false });
    expect(next_run_at).toBeNull();
    const first = await succeed<{ taskId: string; thread_id: string }>(app, 'SCHEDULE_RUN', { id });
    const second = await succeed<{ taskId: string; thread_id: string }>(app, 'SCHEDULE_RUN', { id });
    expect(first.thread_id).not.toBe(second.thread_id);
    const runs = await runsOf(app, id);
    expect(runs.map((run) => run.id)).toEqual([first.taskId, second.taskId]);
    expect(await getSchedule(app, id)).toMatchObject({ enabled: false, last_run: { id: second.taskId } });
  });
});

describe('a schedule is disabled', () => {
  it.each([
    ['agent', 'The agent was deleted.'],
    ['thread', 'The thread was deleted.'],
    ['key', 'The credential of its creator is gone.'],
  ])('when its %s is deleted', async (what, reason) => {
    const agent = await createAgent(app);
    const thread_id = await createThread(app, agent);
    const permissions = { self: ['*'], '*': ['*'] };
    const key = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'creator', permissions });
    const data = { title: 'Report', virtual_mcp_id: agent, cron: '0 0 1 1 *', message: 'hello' };
    const thread = what === 'thread' ? { thread_id } : {};
    const create = async (): Promise<string> => {
      const created = await app.tool('SCHEDULE_CREATE', { data: { ...data, ...thread } }, key.key).expect(200);
      expect(created.body).toMatchObject({ item: { api_key_id: key.id } });
      return (created.body as { item: { id: string } }).item.id;
    };
    const [due, later] = [await create(), await create()];
    if (what === 'thread') await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread_id });
    if (what === 'agent') await succeed(app, 'COLLECTION_VIRTUAL_MCP_DELETE', { id: agent });
    if (what === 'key') await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await makeDue(app, [due]);
    await scheduleWhen(app, due, ({ enabled }) => !enabled);
    // What is not due is disabled without waiting for its time.
    await app.app.get(ScheduleRepository).disableLostAfter(undefined, 1_000);
    for (const id of [due, later]) {
      expect(await getSchedule(app, id)).toMatchObject({ enabled: false, disabled_reason: reason, next_run_at: null });
      expect((await app.tool('SCHEDULE_RUN', { id })).body).toMatchObject({ code: 'conflict', detail: reason });
      expect(await runsOf(app, id)).toEqual([]);
    }
  });
});

describe('the search for schedules that can post no run any more', () => {
  it('looks at so many at a time, however many there are, and goes on after them', async () => {
    const agent = await createAgent(app);
    const lost = await Promise.all(Array.from({ length: 5 }, async () => (await createSchedule(app, agent)).id));
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_DELETE', { id: agent });
    const count = 'SELECT count(*)::integer AS count FROM schedules';
    const [{ count: schedules } = { count: 0 }] = await app.app.get(DataSource).query<{ count: number }[]>(count);
    const repository = app.app.get(ScheduleRepository);
    let looks = 0;
    let after: string | undefined;
    do {
      after = await repository.disableLostAfter(after, 2);
      looks++;
    } while (after !== undefined);
    expect(looks).toBe(Math.floor(schedules / 2) + 1);
    for (const id of lost) expect(await getSchedule(app, id)).toMatchObject({ enabled: false });
  });
});

describe('a change by the service', () => {
  it.each<[string, (repository: ScheduleRepository, schedule: ScheduleEntity) => Promise<void>, object]>([
    [
      'skipped',
      (repository, schedule) => repository.skip(schedule, new Date(Date.now() + 60_000), 'Skipped.'),
      { last_skip_reason: 'Skipped.' },
    ],
    ['disabled', (repository, schedule) => repository.disable(schedule, 'Disabled.'), { disabled_reason: 'Disabled.' }],
  ])(
    'is made to the schedule as it was read, and changes updated_at, when it is %s',
    async (_what, change, changed) => {
      const repository = app.app.get(ScheduleRepository);
      const { id } = await createSchedule(app, agentId);
      const read = async (): Promise<ScheduleEntity> => {
        const [row]: { organization_id: string }[] = await app.app
          .get(DataSource)
          .query('SELECT organization_id FROM schedules WHERE id = $1', [id]);
        return (await repository.find(row?.organization_id ?? '', id)) as ScheduleEntity;
      };
      const stale = await read();
      await succeed(app, 'SCHEDULE_UPDATE', { id, data: { title: 'Changed' } });
      const unchanged = await getSchedule(app, id);
      await change(repository, stale);
      expect(await getSchedule(app, id)).toEqual(unchanged);
      const current = await read();
      await change(repository, current);
      expect(await getSchedule(app, id)).toMatchObject(changed);
      expect(await repository.update(current, { title: 'Too late' })).toBe(false);
    },
  );
});

describe('the limit of runs per minute', () => {
  it('counts runs of SCHEDULE_RUN and of times together with others, and skips the time over it', async () => {
    const limited = await startTestApp({ env: { LIMIT_RUNS_PER_MINUTE: '3' } });
    try {
      const agent = await createAgent(limited);
      const [now, due] = [await createSchedule(limited, agent), await createSchedule(limited, agent)];
      const thread = await ThreadClient.create(limited, agent);
      await thread.postMessage('hello');
      await makeDue(limited, [due.id]);
      await scheduleWhen(limited, due.id, ({ last_run }) => last_run?.status === 'completed');
      await succeed(limited, 'SCHEDULE_RUN', { id: now.id });
      const refused = await limited.tool('SCHEDULE_RUN', { id: now.id });
      expect(refused.body).toMatchObject({ status: 429, code: 'rate_limited' });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      await makeDue(limited, [due.id]);
      const skipped = await scheduleWhen(limited, due.id, ({ last_skipped_at }) => last_skipped_at !== null);
      expect(skipped).toMatchObject({
        enabled: true,
        last_skip_reason: 'Too many runs were posted within a minute.',
        next_run_at: expect.any(String),
      });
      expect(await runsOf(limited, now.id)).toHaveLength(1);
      expect(await runsOf(limited, due.id)).toHaveLength(1);
    } finally {
      await limited.close();
    }
  });
});

describe('a token of a trusted issuer', () => {
  it('cannot be the one for which a schedule acts', async () => {
    const issuer = await startIssuer();
    const trusted = [{ issuer: issuer.issuer, audience: AUDIENCE }];
    const service = await startTestApp({ env: { TRUSTED_ISSUERS: JSON.stringify(trusted) } });
    try {
      const [userId, email] = [newId(), 'ann@example.com'];
      const database = service.app.get(DataSource);
      await database.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $2)', [userId, email]);
      await database.query(
        `INSERT INTO members (organization_id, user_id, role) SELECT id, $1, 'admin' FROM organizations`,
        [userId],
      );
      const token = await issuer.sign({ email });
      const agent = await createAgent(service);
      const { id } = await createSchedule(service, agent);
      const data = { title: 'Report', virtual_mcp_id: agent, cron: '0 0 1 1 *', message: 'hello' };
      const refusal = { status: 400, code: 'invalid_request', detail: expect.stringContaining('trusted issuer') };
      expect((await service.tool('SCHEDULE_CREATE', { data }, token)).body).toMatchObject(refusal);
      const update = async (change: object) =>
        (await service.tool('SCHEDULE_UPDATE', { id, data: change }, token)).body;
      expect(await update({ message: 'other' })).toMatchObject(refusal);
      expect(await update({ cron: '0 0 2 1 *' })).toMatchObject(refusal);
      expect(await update({ title: 'Other', enabled: false })).toMatchObject({ item: { enabled: false } });
      expect(await update({ enabled: true })).toMatchObject(refusal);
    } finally {
      await service.close();
      await issuer.close();
    }
  });
});

it('a neighbor with one schedule does not wait for an organization with many', async () => {
  const neighbor = await startSecondOrganization(app, 'neighbor');
  const database = app.app.get(DataSource);
  const agent = await neighbor.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } });
  const data = { title: 'One', virtual_mcp_id: agent.body.item.id, cron: '0 0 1 1 *', message: 'x' };
  const { id } = (await neighbor.tool('SCHEDULE_CREATE', { data }).expect(200)).body.item as { id: string };
  const { id: first } = await createSchedule(app, agentId, { title: 'Many' });
  await database.query(
    `INSERT INTO schedules
     SELECT (jsonb_populate_record(stored, jsonb_build_object('id', gen_random_uuid()))).*
       FROM schedules stored, generate_series(1, 119) WHERE stored.id = $1`,
    [first],
  );
  // The neighbor's is the last.
  await database.query(
    `UPDATE schedules SET next_run_at = now() - CASE WHEN id = $1 THEN interval '1 second' ELSE interval '9 seconds' END
      WHERE id = $1 OR title = 'Many'`,
    [id],
  );
  await eventually(async () => {
    const [row] = await database.query('SELECT last_run_id FROM schedules WHERE id = $1', [id]);
    return row.last_run_id ?? false;
  });
  const [{ before }] = await database.query(
    `SELECT count(*)::integer AS before FROM runs JOIN schedules ON schedules.id = runs.schedule_id
      WHERE schedules.title = 'Many' AND runs.created_at < (SELECT created_at FROM runs WHERE schedule_id = $1)`,
    [id],
  );
  expect(before).toBeLessThan(30);
  await database.query(`DELETE FROM schedules WHERE title = 'Many'`);
});
