import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, openQueries, type TestDatabase } from '../../support/database.js';
import { ServiceProcess } from '../../support/service-process.js';
import { callTool, type Tenant } from '../../support/tenant.js';
import { eventually } from '../../support/eventually.js';
import { createSchedule, makeDue, runsOf, scheduleWhen } from './schedules.support.js';

const LIMIT_MS = 90_000;
const ENV = {
  ENCRYPTION_KEYS: generateEncryptionKey('recovery'),
  BOOTSTRAP_API_KEY: generateApiKey(),
};

let database: TestDatabase;
/** A process that the first test leaves to the next one. */
let app: TestService | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await app?.close();
  await database?.drop();
});

/** An `api` process, which schedules as well. */
async function startApi(): Promise<TestService> {
  const started = await startTestService({ database, env: { ...ENV, ROLE: 'api' } });
  return { ...started, ...clientOf(started.url) };
}

function clientOf(url: string): Pick<TestService, 'url' | 'apiKey' | 'tool'> {
  const apiKey = ENV.BOOTSTRAP_API_KEY;
  return { url, apiKey, tool: (name, body = {}) => callTool({ url, org: 'default', apiKey }, name, body) };
}

it(
  'fires once after a SIGKILL in the transaction that claims the time and posts the run',
  async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const other = openQueries(database.url);
    const doomed = new ServiceProcess({ ...ENV, DATABASE_URL: database.url, ROLE: 'api' });
    try {
      const own: Tenant = {
        ...clientOf((await doomed.listening()).url),
        org: 'default',
        query: other.query,
        close: () => other.end(),
      };
      const { id } = await createSchedule(own, await createAgent(own));
      // The transaction waits for this lock after it has claimed the time, and before it stores the run.
      await client.query('BEGIN; LOCK TABLE runs IN SHARE MODE');
      await other.query(`UPDATE schedules SET next_run_at = now() - interval '1 second' WHERE id = $1`, [id]);
      const pid = await eventually(async () => {
        const rows = await other.query<{ pid: number }>(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%run_post%'`,
        );
        return rows[0]?.pid ?? false;
      });
      await doomed.kill('SIGKILL');
      // The server would notice only later that its client is gone.
      await other.query('SELECT pg_terminate_backend($1)', [pid]);
      await client.query('ROLLBACK');
      const { rows } = await client.query('SELECT last_run_id FROM schedules WHERE next_run_at < now()');
      expect(rows).toEqual([{ last_run_id: null }]);
      expect((await client.query('SELECT FROM runs')).rowCount).toBe(0);

      app = await startApi();
      const { last_run } = await scheduleWhen(app, id, (schedule) => schedule.last_run !== null);
      expect(await runsOf(app, id)).toMatchObject([{ id: last_run?.id, status: 'queued' }]);
    } finally {
      await doomed.kill('SIGKILL');
      await other.end();
      await client.end();
    }
    const worker = await startTestService({ database, env: { ...ENV, ROLE: 'worker', RUN_LOCK_MS: '2000' } });
    try {
      await eventually(async () => {
        expect(await worker.query('SELECT status FROM runs')).toEqual([{ status: 'completed' }]);
      });
    } finally {
      await worker.close();
    }
  },
  LIMIT_MS,
);

it(
  'fires each time once with several processes',
  async () => {
    const own = (app ??= await startApi());
    const another = await startApi();
    try {
      const agentId = await createAgent(own);
      const ids: string[] = [];
      for (let i = 0; i < 20; i++) ids.push((await createSchedule(own, agentId)).id);
      for (const times of [1, 2]) {
        await makeDue(own, ids);
        for (const id of ids) {
          await scheduleWhen(own, id, ({ next_run_at }) => Date.parse(next_run_at ?? '') > Date.now());
          // The first run is queued until a worker takes it.
          expect(await runsOf(own, id)).toHaveLength(1);
          if (times === 1) continue;
          expect(await scheduleWhen(own, id, ({ last_skipped_at }) => last_skipped_at !== null)).toMatchObject({
            last_skip_reason: 'The previous run was still open.',
          });
        }
      }
    } finally {
      await another.close();
    }
  },
  LIMIT_MS,
);
