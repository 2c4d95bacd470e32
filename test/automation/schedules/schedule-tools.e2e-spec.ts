import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, createThread, succeed, unusedId } from '../../support/agent-runs.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';
import { createSchedule, getSchedule, makeDue, runsOf, scheduleWhen } from './schedules.support.js';

const app = useStarted(newTenant);
let agentId: string;

beforeAll(async () => {
  agentId = await createAgent(app);
});

describe('SCHEDULE_CREATE', () => {
  it('returns the schedule with its next time and its defaults', async () => {
    const item = await createSchedule(app, agentId, { cron: '30 2 * * *', timezone: 'Europe/Berlin' });
    expect(item).toMatchObject({
      virtual_mcp_id: agentId,
      thread_id: null,
      tier: null,
      overlap: 'skip',
      catch_up: false,
      enabled: true,
      disabled_reason: null,
      last_run_at: null,
      last_run: null,
      last_skipped_at: null,
      last_skip_reason: null,
    });
    expect(Date.parse(item.next_run_at ?? '')).toBeGreaterThan(Date.now());
    expect(await getSchedule(app, item.id)).toEqual(item);
    expect(await succeed(app, 'SCHEDULE_LIST', {})).toMatchObject({ items: [item], totalCount: 1 });
    expect(await succeed(app, 'SCHEDULE_DELETE', { id: item.id })).toEqual({ item });
    expect((await app.tool('SCHEDULE_GET', { id: item.id })).body).toMatchObject({ status: 404, code: 'not_found' });
  });

  it.each([
    ['every second', { cron: '* * * * * *' }, 400, 'data.cron'],
    ['at the start', { cron: '@reboot' }, 400, 'data.cron'],
    ['on 30 February', { cron: '0 0 30 2 *' }, 400, 'data.cron'],
    ['in an unknown zone', { timezone: 'Mars/Phobos' }, 400, 'data.timezone'],
    ['with an offset as zone', { timezone: '+01:00' }, 400, 'data.timezone'],
    ['of an unknown agent', { virtual_mcp_id: unusedId() }, 404, 'data.virtual_mcp_id'],
    ['without a message', { message: '' }, 400, 'data.message'],
    ['of an unknown tier', { tier: 'best' }, 400, 'data.tier'],
    ['of an unknown kind of overlap', { overlap: 'both' }, 400, 'data.overlap'],
    ['with an unknown property', { every: 5 }, 400, 'data.every'],
  ])('refuses one %s', async (_name, data, status, path) => {
    const schedule = { title: 'Report', virtual_mcp_id: agentId, cron: '0 9 * * *', message: 'hello', ...data };
    const { body } = await app.tool('SCHEDULE_CREATE', { data: schedule });
    expect(body).toMatchObject({ status, errors: [{ path }] });
  });

  it('refuses a thread that does not exist, or of another agent', async () => {
    const data = { title: 'Report', virtual_mcp_id: agentId, cron: '0 9 * * *', message: 'hello' };
    const unknown = await app.tool('SCHEDULE_CREATE', { data: { ...data, thread_id: 'nowhere' } });
    expect(unknown.body).toMatchObject({ status: 404, code: 'thread_not_found' });
    const thread_id = await createThread(app, await createAgent(app));
    const foreign = await app.tool('SCHEDULE_CREATE', { data: { ...data, thread_id } });
    expect(foreign.body).toMatchObject({ status: 400, code: 'agent_mismatch' });
  });
});

it('cannot be seen from another organization', async () => {
  const other = await startSecondOrganization(app, 'other');
  const { id } = await createSchedule(app, agentId);
  for (const name of ['SCHEDULE_GET', 'SCHEDULE_DELETE', 'SCHEDULE_RUN']) {
    expect({ name, ...(await other.tool(name, { id })).body }).toMatchObject({ name, status: 404, code: 'not_found' });
  }
  const update = await other.tool('SCHEDULE_UPDATE', { id, data: { enabled: false } });
  expect(update.body).toMatchObject({ status: 404, code: 'not_found' });
});

describe('SCHEDULE_UPDATE', () => {
  it('sets a new next time', async () => {
    const { id } = await createSchedule(app, agentId);
    const update = (data: object) => succeed(app, 'SCHEDULE_UPDATE', { id, data });
    expect(await update({ enabled: false })).toMatchObject({ item: { enabled: false, next_run_at: null } });
    expect(await update({ enabled: true, cron: '0 0 1 7 *' })).toMatchObject({
      item: { enabled: true, next_run_at: expect.stringMatching(/-07-01T00:00:00.000Z$/) },
    });
    expect(await update({ timezone: 'Asia/Tokyo' })).toMatchObject({
      item: { next_run_at: expect.stringMatching(/-06-30T15:00:00.000Z$/) },
    });
    expect((await app.tool('SCHEDULE_UPDATE', { id, data: { cron: '0 0 30 2 *' } })).body).toMatchObject({
      errors: [{ path: 'data.cron', message: 'The time of this expression never comes.' }],
    });
  });

  it.each([
    [{ message: 'other' }],
    [{ cron: '0 0 2 1 *' }],
    [{ timezone: 'Asia/Tokyo' }],
    [{ overlap: 'queue' }],
    [{ catch_up: true }],
    [{ enabled: true }],
  ])('lets the schedule act for the caller who changes %j, and for no other', async (data) => {
    const permissions = { self: ['*'], '*': ['*'] };
    const key = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'editor', permissions });
    const { id, api_key_id: creator } = await createSchedule(app, agentId);
    const update = async (change: object) => (await app.tool('SCHEDULE_UPDATE', { id, data: change }, key.key)).body;
    expect(await update({ title: 'Other', enabled: false })).toMatchObject({ item: { api_key_id: creator } });
    expect(await update(data)).toMatchObject({ item: { api_key_id: key.id } });
    const { taskId } = await succeed<{ taskId: string }>(app, 'SCHEDULE_RUN', { id });
    expect(await succeed(app, 'RUN_GET', { id: taskId })).toMatchObject({ item: { api_key_id: key.id } });
  });

  it('is refused without a grant on the agent where running agents needs one', async () => {
    await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'granted' });
    try {
      const permissions = { self: ['SCHEDULE_CREATE', 'SCHEDULE_UPDATE', 'SCHEDULE_RUN'] };
      const key = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'limited', permissions });
      const { id } = await createSchedule(app, agentId);
      const denied = { status: 403, code: 'permission_denied' };
      for (const change of [{ message: 'x' }, { cron: '* * * * *' }, { enabled: false }, { enabled: true }]) {
        expect((await app.tool('SCHEDULE_UPDATE', { id, data: change }, key.key)).body).toMatchObject(denied);
      }
      expect((await app.tool('SCHEDULE_RUN', { id }, key.key)).body).toMatchObject(denied);
      expect(await runsOf(app, id)).toEqual([]);
      const data = { title: 'x', virtual_mcp_id: agentId, cron: '0 0 1 1 *', message: 'x' };
      expect((await app.tool('SCHEDULE_CREATE', { data }, key.key)).body).toMatchObject(denied);
    } finally {
      await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'members' });
    }
  });

  it('disables, at its time, a schedule whose creator can no longer make it', async () => {
    const permissions = { self: ['SCHEDULE_CREATE'] };
    const key = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'maker', permissions });
    const data = { title: 'x', virtual_mcp_id: agentId, cron: '0 0 1 1 *', message: 'x' };
    const { id } = (await app.tool('SCHEDULE_CREATE', { data }, key.key).expect(200)).body.item as { id: string };
    await succeed(app, 'API_KEY_UPDATE', { id: key.id, permissions: { self: ['SCHEDULE_LIST'] } });
    await makeDue(app, [id]);
    const disabled = await scheduleWhen(app, id, ({ enabled }) => !enabled);
    expect(disabled.disabled_reason).toBe('Its creator can no longer make schedules.');
    expect(await runsOf(app, id)).toEqual([]);
  });

  it('disables, at its time, a schedule whose creator can no longer run the agent', async () => {
    await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'granted' });
    try {
      const permissions = { self: ['SCHEDULE_CREATE'], [agentId]: ['*'] };
      const key = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'granted', permissions });
      const data = { title: 'x', virtual_mcp_id: agentId, cron: '0 0 1 1 *', message: 'x' };
      const { body } = await app.tool('SCHEDULE_CREATE', { data }, key.key).expect(200);
      const { id } = body.item as { id: string };
      await makeDue(app, [id]);
      await scheduleWhen(app, id, ({ last_run }) => last_run?.status === 'completed');
      await succeed(app, 'API_KEY_UPDATE', { id: key.id, permissions: { self: ['SCHEDULE_CREATE'] } });
      await makeDue(app, [id]);
      const disabled = await scheduleWhen(app, id, ({ enabled }) => !enabled);
      expect(disabled.disabled_reason).toBe('Its creator can no longer run the agent.');
      expect(await runsOf(app, id)).toHaveLength(1);
    } finally {
      await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'members' });
    }
  });
});
