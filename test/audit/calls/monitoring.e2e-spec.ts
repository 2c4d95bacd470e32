import { beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { AuditLog } from '../../../src/audit/calls/audit-log.js';
import type { InvocationFacts, InvocationOutcome } from '../../../src/audit/calls/audit-record.js';
import { AuditRepository } from '../../../src/audit/calls/audit.repository.js';
import { MonitoringService } from '../../../src/audit/calls/monitoring.service.js';
import { newId } from '../../../src/core/ids.js';
import { AnswerBudget } from '../../../src/core/answers/answer-budget.js';
import type { Principal } from '../../../src/core/principal.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

interface Item {
  id: string;
  at: string;
  tool_name: string;
  request_id: string;
}

interface Page {
  items: Item[];
  totalCount: number;
  hasMore: boolean;
  nextCursor: string | null;
}

const CONNECTION = newId();
const AGENT = newId();
const RUN = newId();

const service = useStarted(startTestApp);
let database: DataSource;
let other: Awaited<ReturnType<typeof startSecondOrganization>>;
let organizationId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  other = await startSecondOrganization(service, 'other');
  const [own] = await database.query(`SELECT id FROM organizations WHERE slug = 'default'`);
  organizationId = own.id as string;
  await record('first', {}, { durationMs: 1.25 });
  await record('second', { entryPoint: 'gateway', agentId: AGENT }, { status: 'error', errorCode: 'upstream_timeout' });
  await record('third', { toolName: 'write' }, { status: 'denied', errorCode: 'permission_denied' });
  await record('fourth', { entryPoint: 'run', runId: RUN, public: true });
  await record('fifth', { entryPoint: 'self', connectionId: null, toolName: 'API_KEY_LIST' });
  await record('foreign', { organizationId: other.id });
});

async function record(
  requestId: string,
  facts: Partial<InvocationFacts> = {},
  outcome: Partial<InvocationOutcome> = {},
): Promise<void> {
  const entry = service.app.get(AuditLog, { strict: false }).openEntry({
    organizationId,
    entryPoint: 'proxy',
    connectionId: CONNECTION,
    agentId: null,
    toolName: 'read',
    userId: null,
    apiKeyId: null,
    runId: null,
    requestId,
    public: false,
    ...facts,
  });
  await entry.close({ status: 'success', errorCode: null, durationMs: 2, ...outcome });
}

/** Inserts `count` records, a minute apart, starting at `from`; durations 1 ms, 2 ms, … */
async function recordEachMinute(organization: string, from: string, count: number, toolName: string): Promise<void> {
  await database.query(
    `INSERT INTO audit_records (organization_id, at, id, door, connection_id, tool_name, status, duration_ms, request_id, public)
     SELECT $1, $2::timestamptz + n * interval '1 minute', gen_random_uuid(), 'proxy', $3, $4, 'success', n + 1, 'old', false
     FROM generate_series(0, $5::integer - 1) AS n`,
    [organization, from, CONNECTION, toolName, count],
  );
}

async function list(input: object): Promise<Page> {
  const answer = await service.tool('MONITORING_LOGS_LIST', input);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as Page;
}

async function requestsWhere(where: object): Promise<string[]> {
  return (await list({ where })).items.map((item) => item.request_id).toSorted();
}

async function stats(input: object): Promise<Record<string, unknown>> {
  const answer = await service.tool('MONITORING_STATS', input);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as Record<string, unknown>;
}

const own = {
  field: ['request_id'],
  operator: 'in',
  value: ['first', 'second', 'third', 'fourth', 'fifth', 'foreign'],
};

describe('MONITORING_LOGS_LIST', () => {
  it("returns only the organization's invocations, newest first", async () => {
    const page = await list({ where: own });
    expect(page.items.map((item) => item.request_id)).toEqual(['fifth', 'fourth', 'third', 'second', 'first']);
    expect(page).toMatchObject({ totalCount: 5, hasMore: false, nextCursor: null });
    const where = { field: ['door'], operator: 'eq', value: 'proxy' };
    const foreign = await other.tool('MONITORING_LOGS_LIST', { where }).expect(200);
    expect((foreign.body as Page).items.map((item) => item.request_id)).toEqual(['foreign']);
  });

  it('returns exactly the documented fields', async () => {
    const [second] = (await list({ where: { field: ['request_id'], operator: 'eq', value: 'second' } })).items;
    expect(second).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      door: 'gateway',
      connection_id: CONNECTION,
      connection_title: null,
      agent_id: AGENT,
      tool_name: 'read',
      status: 'error',
      error_code: 'upstream_timeout',
      duration_ms: 2,
      user_id: null,
      user_email: null,
      api_key_id: null,
      key_name: null,
      run_id: null,
      request_id: 'second',
      public: false,
      arguments: null,
      result: null,
    });
  });

  it.each<[string, object, string[]]>([
    ['tool', { field: ['tool_name'], operator: 'eq', value: 'write' }, ['third']],
    ['status', { field: ['status'], operator: 'eq', value: 'denied' }, ['third']],
    ['error code', { field: ['error_code'], operator: 'eq', value: 'upstream_timeout' }, ['second']],
    ['door', { field: ['door'], operator: 'in', value: ['run', 'self'] }, ['fifth', 'fourth']],
    ['management', { field: ['management'], operator: 'eq', value: false }, ['first', 'fourth', 'second', 'third']],
    ['agent', { field: ['agent_id'], operator: 'eq', value: AGENT }, ['second']],
    ['run', { field: ['run_id'], operator: 'eq', value: RUN }, ['fourth']],
    ['public', { field: ['public'], operator: 'eq', value: true }, ['fourth']],
    ['duration', { field: ['duration_ms'], operator: 'lt', value: 1.3 }, ['first']],
  ])('filters by %s', async (_what, where, requests) => {
    expect(await requestsWhere(where)).toEqual(requests);
  });

  it('filters by time and returns each record once across cursor pages', async () => {
    await recordEachMinute(organizationId, '2026-01-01T00:00:00Z', 25, 'paged');
    const where = {
      operator: 'and',
      conditions: [
        { field: ['at'], operator: 'gte', value: '2026-01-01T00:05:00Z' },
        { field: ['at'], operator: 'lt', value: '2026-01-01T00:20:00Z' },
      ],
    };
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page = await list({ where, limit: 4, cursor });
      expect(page.totalCount).toBe(15);
      seen.push(...page.items.map((item) => item.at));
      cursor = page.nextCursor;
    } while (cursor !== null);
    const minutes = Array.from({ length: 15 }, (_, n) => `2026-01-01T00:${String(19 - n).padStart(2, '0')}:00.000Z`);
    expect(seen).toEqual(minutes);
  });

  it('rejects another organization', async () => {
    const where = { field: ['organization_id'], operator: 'eq', value: other.id };
    expectProblem(await service.tool('MONITORING_LOGS_LIST', { where }), 400, 'invalid_request');
  });
});

describe('MONITORING_STATS', () => {
  it('counts the last 24 hours, by tool and over time', async () => {
    const { total, tools, bucket_seconds: width, truncated } = await stats({ connection_id: CONNECTION });
    expect(width).toBe(3600);
    expect(truncated).toBe(false);
    expect(total).toMatchObject({ calls: 4, successes: 2, errors: 1, denied: 1, latency_ms: { p95: 2, p99: 2 } });
    expect((total as { error_rate: number }).error_rate).toBeCloseTo(1 / 3);
    expect(tools).toEqual([
      expect.objectContaining({ connection_id: CONNECTION, tool_name: 'read', calls: 3, errors: 1, denied: 0 }),
      expect.objectContaining({ tool_name: 'write', calls: 1, denied: 1, error_rate: 0, latency_ms: null }),
    ]);
    const managed = await stats({ tool_name: 'API_KEY_LIST' });
    expect(managed.total).toMatchObject({ calls: 1, error_rate: 0, latency_ms: { p50: 2, p95: 2, p99: 2 } });
    expect(managed.tools).toEqual([expect.objectContaining({ connection_id: null, tool_name: 'API_KEY_LIST' })]);
    for (const tool of tools as { calls: number; over_time: { calls: number }[] }[]) {
      expect(tool.over_time.reduce((sum, step) => sum + step.calls, 0)).toBe(tool.calls);
    }
  });

  it('leaves out management tools', async () => {
    const { total, tools, groups } = await stats({ include_management: false, group_by: 'connection' });
    expect(total).toMatchObject({ calls: 4 });
    expect((tools as { tool_name: string }[]).map((tool) => tool.tool_name)).toEqual(['read', 'write']);
    expect(groups).toEqual([expect.objectContaining({ group: CONNECTION, calls: 4 })]);
    expect(await stats({ tool_name: 'API_KEY_LIST', include_management: false })).toMatchObject({
      total: { calls: 0 },
    });
  });

  it.each(['connection', 'agent', 'key', 'person'])('counts by %s', async (by) => {
    const { total, groups } = await stats({ group_by: by });
    const counted = groups as { group: string | null; calls: number }[];
    expect(counted.reduce((sum, { calls }) => sum + calls, 0)).toBe((total as { calls: number }).calls);
    if (by === 'connection') expect(counted).toContainEqual(expect.objectContaining({ group: CONNECTION, calls: 4 }));
    expect((await stats({})).groups).toEqual([]);
  });

  it('counts the groups that are asked for, with their last calls', async () => {
    const { groups } = await stats({ group_by: 'connection', groups: [CONNECTION, newId()] });
    expect(groups).toEqual([
      expect.objectContaining({ group: CONNECTION, calls: 4, last_at: expect.stringMatching(/Z$/) }),
    ]);
    expect((await stats({ group_by: 'connection', groups: [] })).groups).toEqual([]);
  });

  it('returns percentiles and buckets of a range for one tool of one connection', async () => {
    await recordEachMinute(organizationId, '2026-02-01T00:00:00Z', 101, 'steady');
    await recordEachMinute(organizationId, '2026-02-01T00:00:00Z', 10, 'beside');
    await recordEachMinute(other.id, '2026-02-01T00:00:00Z', 10, 'steady');
    const range = { from: '2026-02-01T00:00:00Z', to: '2026-02-01T02:00:00+00:00' };
    const answer = await stats({ ...range, connection_id: CONNECTION, tool_name: 'steady' });
    expect(answer).toMatchObject({
      from: '2026-02-01T00:00:00.000Z',
      to: '2026-02-01T02:00:00.000Z',
      bucket_seconds: 300,
      total: { calls: 101, latency_ms: { p50: 51, p95: 96, p99: 100 } },
      tools: [{ tool_name: 'steady', calls: 101 }],
    });
    const [{ over_time: steps }] = answer.tools as [{ over_time: object[] }];
    expect(steps).toHaveLength(21);
    expect(steps[0]).toEqual({
      at: '2026-02-01T00:00:00.000Z',
      calls: 5,
      successes: 5,
      errors: 0,
      denied: 0,
      error_rate: 0,
      latency_ms: { p50: 3, p95: 4.8, p99: 4.96 },
    });
    expect(steps[20]).toMatchObject({ at: '2026-02-01T01:40:00.000Z', calls: 1 });
    expect(await stats({ ...range, connection_id: newId() })).toMatchObject({ total: { calls: 0 }, tools: [] });
  });

  it('counts all calls over time, with percentiles, also those of tools that are not listed', async () => {
    const range = { from: '2026-02-01T00:00:00Z', to: '2026-02-01T02:00:00Z' };
    expect(await stats({ ...range, connection_id: CONNECTION })).toMatchObject({
      total: { calls: 111 },
      over_time: [],
    });
    const answer = await stats({ ...range, connection_id: CONNECTION, over_time: true });
    const steps = answer.over_time as { at: string; calls: number }[];
    expect(steps.reduce((sum, { calls }) => sum + calls, 0)).toBe(111);
    expect(steps[0]).toMatchObject({
      at: '2026-02-01T00:00:00.000Z',
      calls: 10,
      latency_ms: { p50: 3, p95: 5, p99: 5 },
    });
    expect(steps[1]).toMatchObject({ calls: 10, latency_ms: { p50: 8 } });
    expect(steps[2]).toMatchObject({ calls: 5, latency_ms: { p50: 13 } });
  });

  it('counts groups over time where that is asked for', async () => {
    const range = { from: '2026-02-01T00:00:00Z', to: '2026-02-01T02:00:00Z' };
    const answer = await stats({ ...range, group_by: 'connection', over_time: true });
    const [group] = answer.groups as [{ group: string; over_time: object[] }];
    expect(group).toMatchObject({ group: CONNECTION, calls: 111 });
    expect(group.over_time).toEqual(answer.over_time);
    const withoutAgent = await stats({ ...range, group_by: 'agent', over_time: true });
    expect(withoutAgent.groups).toEqual([expect.objectContaining({ group: null, over_time: answer.over_time })]);
    const asked = { group_by: 'connection', groups: [CONNECTION], over_time: true };
    expect((await stats({ ...range, ...asked })).groups).toEqual([group]);
    const plain = await stats({ ...range, group_by: 'connection' });
    expect(plain.groups).toEqual([{ ...group, over_time: [] }]);
    expect((await stats({ ...range, over_time: true })).groups).toEqual([]);
  });

  it('bounds the number of groups over time, also of those that are asked for', async () => {
    const from = '2026-05-01T00:00:00Z';
    await database.query(
      `INSERT INTO audit_records (organization_id, at, id, door, connection_id, tool_name, status, duration_ms, request_id, public)
       SELECT $1, $2, gen_random_uuid(), 'proxy', gen_random_uuid(), 'spread', 'success', 1, 'old', false
       FROM generate_series(1, 60)`,
      [organizationId, from],
    );
    const input = { from, to: '2026-05-01T01:00:00Z', tool_name: 'spread', group_by: 'connection' };
    const all = await stats({ ...input, over_time: true });
    expect(all).toMatchObject({ truncated: true, total: { calls: 60 }, over_time: [{ calls: 60 }] });
    expect(all.groups).toHaveLength(50);
    const [found]: { ids: string[] }[] = await database.query(
      `SELECT array_agg(connection_id) AS ids FROM audit_records WHERE tool_name = 'spread'`,
    );
    const asked = await stats({ ...input, groups: found?.ids, over_time: true });
    expect(asked.groups).toHaveLength(50);
    expect((await stats({ ...input, groups: found?.ids })).groups).toHaveLength(60);
  });

  it('returns buckets for a range of any length', async () => {
    await recordEachMinute(organizationId, '2026-04-01T00:00:00Z', 3, 'once');
    const range = { from: '2026-01-01', to: '9999-12-31' };
    expect(await stats({ ...range, tool_name: 'once' })).toMatchObject({
      total: { calls: 3 },
      tools: [{ tool_name: 'once', over_time: [{ calls: 3 }] }],
    });
  });

  it('bounds the number of tools', async () => {
    for (let n = 0; n < 52; n++)
      await recordEachMinute(organizationId, '2026-03-01T00:00:00Z', n === 7 ? 2 : 1, `t${n}`);
    const answer = await stats({ from: '2026-03-01', to: '2026-03-02' });
    expect(answer).toMatchObject({ truncated: true, total: { calls: 53 } });
    expect(answer.tools).toHaveLength(50);
    expect((answer.tools as object[])[0]).toMatchObject({ tool_name: 't7', calls: 2 });
  });

  it.each([
    ['from', { from: '2026-01-02', to: '2026-01-01' }],
    ['from', { from: 'yesterday' }],
    ['to', { to: '2026-01-01T00:00:00' }],
    ['connection_id', { connection_id: 'none' }],
    ['tool_name', { tool_name: 'x'.repeat(257) }],
    ['from', { from: null }],
    ['over_time', { group_by: 'connection', over_time: 'yes' }],
  ])('rejects an invalid %s', async (path, input) => {
    const problem = expectProblem(await service.tool('MONITORING_STATS', input), 400, 'invalid_request');
    expect(problem.errors?.map((fault) => fault.path)).toEqual([path]);
  });
});

it.each(['MONITORING_LOGS_LIST', 'MONITORING_STATS'])('%s requires its permission', async (name) => {
  const self = ['MONITORING_LOGS_LIST', 'MONITORING_STATS'].filter((tool) => tool !== name);
  const made = await service.tool('API_KEY_CREATE', { name: 'half', permissions: { self, '*': ['*'] } }).expect(200);
  expectProblem(await service.tool(name, {}, made.body.key as string), 403, 'permission_denied');
  for (const tool of self) await service.tool(tool, {}, made.body.key as string).expect(200);
});

it('a query that takes too long is rejected and blocks no other', async () => {
  const locker = database.createQueryRunner();
  await locker.startTransaction();
  try {
    await locker.query('LOCK TABLE audit_records IN ACCESS EXCLUSIVE MODE');
    // Through the tool, the call itself could not be recorded.
    const caller = { organization: { id: organizationId } } as Principal;
    const query = service.app
      .get(MonitoringService, { strict: false })
      .stats({}, caller, new AnswerBudget().openAnswer(caller));
    await expect(query).rejects.toMatchObject({ code: 'invalid_request' });
  } finally {
    await locker.rollbackTransaction();
    await locker.release();
  }
});

it('records are deleted after the retention time, also by concurrent processes', async () => {
  const records = service.app.get(AuditRepository, { strict: false });
  const sweep = async (now: Date): Promise<void> => {
    while ((await records.deleteExpired(now)) > 0);
  };
  const count = async (): Promise<number[]> => {
    const rows: { n: number }[] = await database.query(
      `SELECT count(*)::integer AS n FROM audit_records WHERE tool_name = 'swept' GROUP BY organization_id`,
    );
    return rows.map(({ n }) => n);
  };
  await recordEachMinute(organizationId, '2020-01-01T00:00:00Z', 2500, 'swept');
  await recordEachMinute(other.id, '2020-01-01T00:00:00Z', 1200, 'swept');
  const now = new Date(Date.parse('2020-01-01T00:00:00Z') + 90 * 86_400_000 + 1000 * 60_000);
  await Promise.all([sweep(now), sweep(now)]);
  expect((await count()).toSorted((a, b) => a - b)).toEqual([200, 1500]);
  await sweep(new Date('2021-01-01'));
  expect(await count()).toEqual([]);
});
