import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { MonitoringService } from '../../../src/audit/calls/monitoring.service.js';
import { AnswerBudget } from '../../../src/core/answers/answer-budget.js';
import { LongReads } from '../../../src/platform/database/long-reads.js';
import { createAgent, createThread } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const PATH = '/api/default/monitoring/export';
/** Before the 10 s after which a long read ends in any case. */
const LONG_READ_MS = 9_000;
/** Far more than the buffers of a connection hold. */
const MANY = 40_000;

const service = useStarted(startTestApp);
let database: DataSource;

beforeAll(async () => {
  database = service.app.get(DataSource);
});
beforeEach(() => database.query('DELETE FROM audit_records'));
afterEach(() => void jest.restoreAllMocks());

/** Stores calls of the tool `t<n>`, one per second up to now. */
async function storeCalls(count: number, organization = 'default'): Promise<void> {
  await database.query(
    `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, request_id, public)
     SELECT o.id, now() - n * interval '1 second', gen_random_uuid(), 'proxy', 't' || n, CASE WHEN n % 3 = 0 THEN 'error' ELSE 'success' END,
            n, 'r' || n, false
       FROM organizations o, generate_series(1, $1::integer) n WHERE o.slug = $2`,
    [count, organization],
  );
}

function exportOf(body: object, key = service.apiKey) {
  return supertest(service.url)
    .post(PATH)
    .set('authorization', `Bearer ${key}`)
    .buffer(true)
    .parse((response, done) => callbackify(() => text(response as unknown as IncomingMessage))(done))
    .send(body);
}

async function linesOf(body: object): Promise<Record<string, unknown>[]> {
  const answer = await exportOf({ format: 'jsonl', ...body }).expect(200);
  return (answer.body as string)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Opens an export without reading it. */
async function openExport(body: object): Promise<IncomingMessage> {
  const call = httpRequest(`${service.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
  });
  call.on('error', () => undefined);
  call.end(JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

describe('the export of calls', () => {
  it('has the items of the list, newest first, whatever their number', async () => {
    await storeCalls(1_301);
    const lines = await linesOf({ records: 'calls' });
    expect(lines.map(({ tool_name: name }) => name)).toEqual(Array.from({ length: 1_301 }, (_, n) => `t${n + 1}`));
    const { items } = (await service.tool('MONITORING_LOGS_LIST', { limit: 1, where: toolIs('t1') }).expect(200)).body;
    expect(lines[0]).toEqual(items[0]);
  });

  it.each([500, 1000])('ends after a full batch: %i', async (count) => {
    await storeCalls(count);
    expect(await linesOf({ records: 'calls' })).toHaveLength(count);
  });

  it('has what the filter selects, wherever it is', async () => {
    await storeCalls(1_000);
    expect((await linesOf({ records: 'calls', where: toolIs('t999') })).map((line) => line['request_id'])).toEqual([
      'r999',
    ]);
    const errors = { field: ['status'], operator: 'eq', value: 'error' };
    const from = new Date(Date.now() - 600_000).toISOString();
    const where = { operator: 'and', conditions: [errors, { field: ['at'], operator: 'gte', value: from }] };
    const lines = await linesOf({ records: 'calls', where });
    expect(lines.length).toBeGreaterThan(190);
    expect(lines.length).toBeLessThan(201);
    expect(lines.every(({ status, at }) => status === 'error' && String(at) >= from)).toBe(true);
  });

  it('is CSV with a header', async () => {
    await storeCalls(2);
    await database.query(`UPDATE audit_records SET tool_name = '=cmd,"x"' WHERE request_id = 'r2'`);
    const answer = await exportOf({ records: 'calls', format: 'csv' }).expect(200);
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(answer.headers['content-disposition']).toBe('attachment; filename="calls.csv"');
    const lines = (answer.body as string).split('\r\n');
    expect(lines[0]).toBe(
      'id,at,door,connection_id,connection_title,agent_id,tool_name,status,error_code,duration_ms,user_id,user_email,' +
        'api_key_id,key_name,run_id,request_id,public,arguments,result',
    );
    expect(lines[1]).toMatch(/,proxy,,,,t1,success,,1,,,,,,r1,false,,$/);
    expect(lines[2]).toContain(`,"'=cmd,""x""",`);
    expect(lines.slice(3)).toEqual(['']);
  });

  it('is of the own organization', async () => {
    const second = await startSecondOrganization(service, 'second');
    await storeCalls(3, 'second');
    expect(await linesOf({ records: 'calls' })).toEqual([]);
    const answer = await second.post('monitoring/export', { records: 'calls', format: 'csv' });
    expect(answer.text.split('\r\n')).toHaveLength(5);
  });

  it('refuses what is no export, before anything is sent', async () => {
    const unknown = { field: ['secret'], operator: 'eq', value: 'x' };
    for (const body of [
      {},
      { records: 'threads', format: 'csv' },
      { records: 'calls', format: 'xml' },
      { records: 'calls', format: 'csv', where: unknown },
      { records: 'calls', format: 'csv', limit: 1 },
    ]) {
      const answer = await supertest(service.url)
        .post(PATH)
        .set('authorization', `Bearer ${service.apiKey}`)
        .send(body);
      expect(answer.status).toBe(400);
    }
  });

  it('needs MONITORING_EXPORT', async () => {
    const narrow = { name: 'narrow', permissions: { self: ['MONITORING_LOGS_LIST'] } };
    const { key } = (await service.tool('API_KEY_CREATE', narrow).expect(200)).body;
    const post = (token: string) =>
      supertest(service.url)
        .post(PATH)
        .set('authorization', `Bearer ${token}`)
        .send({ records: 'calls', format: 'csv' });
    expectProblem(await post(key), 403, 'permission_denied');
    const right = { name: 'right', permissions: { self: ['MONITORING_EXPORT'] } };
    const made = (await service.tool('API_KEY_CREATE', right).expect(200)).body;
    await post(made.key).expect(200);
  });

  it('breaks off when reading fails, so that it does not look complete', async () => {
    await storeCalls(MANY);
    const response = await openExport({ records: 'calls', format: 'jsonl' });
    await once(response, 'readable');
    await database.query('ALTER TABLE audit_records RENAME TO audit_records_away');
    try {
      await expect(text(response)).rejects.toThrow('aborted');
      expect(response.complete).toBe(false);
    } finally {
      await database.query('ALTER TABLE audit_records_away RENAME TO audit_records');
    }
  });

  it('waits for a reader who does not read, and stops reading when the reader has left', async () => {
    // More than the buffers of the kernel can hold, which are up to 10 MiB.
    await storeCalls(2 * MANY);
    const read = countReadCalls();
    const response = await openExport({ records: 'calls', format: 'jsonl' });
    await once(response, 'readable');
    const atRest = await settled(read);
    response.destroy();
    expect(atRest).toBeLessThan(2 * MANY);
    expect((await settled(read)) - atRest).toBeLessThan(MANY / 10);
  });
});

describe('the export of events', () => {
  it('has the items of the list, and is itself an event', async () => {
    const lines = await linesOf({ records: 'events' });
    const { items } = (await service.tool('AUDIT_EVENTS_LIST', { limit: 1000 }).expect(200)).body;
    const [exported, ...before] = items as { event: string; changes: unknown }[];
    expect(lines).toEqual(before);
    expect(exported).toMatchObject({
      event: 'records.exported',
      changes: { records: 'events', format: 'jsonl', where: null },
    });
    const csv = await exportOf({ records: 'events', format: 'csv' }).expect(200);
    expect((csv.body as string).split('\r\n')[0]).toBe(
      'id,at,event,user_id,user_email,api_key_id,key_name,client_id,source,target_type,target_id,target_name,changes',
    );
  });
});

describe('a long read whose caller has left', () => {
  beforeAll(async () => createThread(service, await createAgent(service), 'long'));

  const nothing = { field: ['id'], operator: 'eq', value: '00000000-0000-7000-8000-000000000000' };
  const search = { field: ['title'], operator: 'contains', value: 'nowhere' };
  const logs = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'MONITORING_LOGS_LIST', arguments: {} } };

  it.each<[what: string, path: string, body: object, table: string, sql: string]>([
    [
      'an export',
      'monitoring/export',
      { records: 'calls', format: 'jsonl', where: nothing },
      'audit_records',
      'audit_records',
    ],
    ['a list', 'tools/MONITORING_LOGS_LIST', {}, 'audit_records', 'audit_records'],
    ['a list over MCP', 'mcp/self', logs, 'audit_records', 'audit_records'],
    ['statistics', 'tools/MONITORING_STATS', {}, 'audit_records', 'percentile_cont'],
    ['statistics of runs', 'tools/RUN_STATS', {}, 'runs', 'question AS MATERIALIZED'],
    ['usage', 'tools/USAGE_STATS', { by: 'day' }, 'runs', 'unpriced_runs'],
    ['a search', 'tools/COLLECTION_THREADS_LIST', { where: search }, 'threads', 'thread'],
    [
      'a transcript',
      'tools/COLLECTION_THREAD_MESSAGES_LIST',
      { thread_id: 'long', limit: 1000 },
      'messages',
      'message',
    ],
  ])('ends at once: %s', async (_what, path, body, table, sql) => {
    await whileLocked(table, async () => {
      const call = post(path, body);
      await untilBlocked(table, sql, 1);
      call.destroy();
      // The lock is still held: only a canceled statement ends.
      await untilBlocked(table, sql, 0);
    });
    const budget = service.app.get(AnswerBudget, { strict: false });
    await eventually(() => expect(budget.heldBytes).toBe(0), LONG_READ_MS);
  });

  it('shares its places by organization: four exports read one after the other, and a neighbor beside them', async () => {
    const body = { records: 'calls', format: 'jsonl', where: nothing };
    const second = await startSecondOrganization(service, 'beside');
    await storeCalls(2_000);
    await whileLocked('audit_records', async () => {
      const calls = Array.from({ length: 4 }, () => post('monitoring/export', body));
      const exported = `SELECT count(*)::integer AS n FROM audit_events WHERE event = 'records.exported' AND changes->'where' ? 'value'`;
      // The event precedes the first read.
      const areRead = async () => expect(Number((await database.query(exported))[0].n)).toBeGreaterThanOrEqual(5);
      await eventually(areRead, LONG_READ_MS);
      const beside = second.post('monitoring/export', body).then(({ status }) => status);
      await untilBlocked('audit_records', 'audit_records', 2);
      for (const call of calls) call.destroy();
      await untilBlocked('audit_records', 'audit_records', 1);
      return () => beside;
    }).then(async (beside) => expect(await beside()).toBe(200));
  });
});

it('a long read has parallel workers only while there is no other', async () => {
  const reads = service.app.get(LongReads, { strict: false });
  const never = new AbortController().signal;
  const workers = (): Promise<unknown> =>
    reads.read('parallel', never, async (manager) => manager.query('SHOW max_parallel_workers_per_gather'));
  const alone = await database.query('SHOW max_parallel_workers_per_gather');
  expect(alone).not.toEqual([{ max_parallel_workers_per_gather: '0' }]);
  expect(await workers()).toEqual(alone);
  const beside = await reads.read('other', never, workers);
  expect(beside).toEqual([{ max_parallel_workers_per_gather: '0' }]);
  expect(await workers()).toEqual(alone);
});

/** Posts without waiting for the answer. */
function post(path: string, body: object): ClientRequest {
  const call = httpRequest(`${service.url}/api/default/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  });
  call.on('error', () => undefined);
  call.end(JSON.stringify(body));
  return call;
}

/** Holds a lock on which all reads of the table wait. */
async function whileLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
  const locker = database.createQueryRunner();
  await locker.startTransaction();
  try {
    await locker.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return await work();
  } finally {
    await locker.rollbackTransaction();
    await locker.release();
  }
}

/**
 * Resolves when exactly this many queries whose text contains `sql` wait for the table. The databases of other suites
 * are copies of the same template: there the table has the same OID.
 */
async function untilBlocked(table: string, sql: string, count: number): Promise<void> {
  const blocked = `
    SELECT count(DISTINCT a.pid)::integer AS n FROM pg_stat_activity a JOIN pg_locks l USING (pid)
     WHERE a.datname = current_database() AND l.relation = $1::regclass AND NOT l.granted
       AND l.mode = 'AccessShareLock' AND strpos(a.query, $2) > 0`;
  const isBlocked = async () => expect(Number((await database.query(blocked, [table, sql]))[0].n)).toBe(count);
  await eventually(isBlocked, LONG_READ_MS);
}

function toolIs(value: string) {
  return { field: ['tool_name'], operator: 'eq', value };
}

/** Counts the calls that exports read from now on; the statistics of PostgreSQL are up to 10 s late. */
function countReadCalls(): () => number {
  const monitoring = service.app.get(MonitoringService, { strict: false });
  const scan = monitoring.scan.bind(monitoring);
  let count = 0;
  jest.spyOn(monitoring, 'scan').mockImplementation(async function* (...args) {
    for await (const calls of scan(...args)) {
      count += calls.length;
      yield calls;
    }
  });
  return () => count;
}

/** The value once it has stopped changing. */
async function settled(read: () => number): Promise<number> {
  for (let known = read(); ;) {
    await sleep(1_500);
    const next = read();
    if (next === known) return next;
    known = next;
  }
}
