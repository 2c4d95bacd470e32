import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import type { ScheduleItem } from '../../../src/automation/schedules/schedule.dto.js';
import { succeed } from '../../support/agent-runs.js';
import type { Tenant } from '../../support/tenant.js';
import { eventually } from '../../support/eventually.js';

/** Once a year, so that it fires only when a test makes it due. */
const YEARLY = '0 0 1 1 *';

export async function createSchedule(app: Tenant, agentId: string, data: object = {}): Promise<ScheduleItem> {
  const schedule = { title: 'Report', virtual_mcp_id: agentId, cron: YEARLY, message: 'scheduled hello', ...data };
  return (await succeed<{ item: ScheduleItem }>(app, 'SCHEDULE_CREATE', { data: schedule })).item;
}

export async function getSchedule(app: Tenant, id: string): Promise<ScheduleItem> {
  return (await succeed<{ item: ScheduleItem }>(app, 'SCHEDULE_GET', { id })).item;
}

/** The schedule, once it is as expected. */
export function scheduleWhen(
  app: Tenant,
  id: string,
  isExpected: (schedule: ScheduleItem) => boolean,
): Promise<ScheduleItem> {
  return eventually(async () => {
    const schedule = await getSchedule(app, id);
    return isExpected(schedule) && schedule;
  });
}

/** Lets the next time of schedules have come some seconds ago. */
export async function makeDue(app: Tenant, ids: readonly string[], secondsAgo = 1): Promise<void> {
  await app.query(`UPDATE schedules SET next_run_at = now() - $2 * interval '1 second' WHERE id = ANY($1)`, [
    ids,
    secondsAgo,
  ]);
}

/** The runs of a schedule, the oldest first. */
export async function runsOf(app: Tenant, scheduleId: string): Promise<RunItem[]> {
  const where = { field: ['schedule_id'], operator: 'eq', value: scheduleId };
  const orderBy = [{ field: ['created_at'], direction: 'asc' }];
  return (await succeed<{ items: RunItem[] }>(app, 'RUN_LIST', { where, orderBy, limit: 1000 })).items;
}
