import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ServiceProcess } from '../../support/service-process.js';
import { eventually } from '../../support/eventually.js';
import { createSchedule, makeDue, runsOf, scheduleWhen } from './schedules.support.js';

const LIMIT_MS = 90_000;
const ENV = {
  ENCRYPTION_KEYS: generateEncryptionKey('recovery'),
  BOOTSTRAP_API_KEY: generateApiKey(),
};

let database: TestDatabase;
let agentId: string;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

/** An `api` process of the test's own, which schedules as well. */
async function withApi(work: (app: TestService) => Promise<void>): Promise<void> {
  const started = await startTestService({ database, env: { ...ENV, ROLE: 'api' } });
  const app: TestService = {
    ...started,
    apiKey: ENV.BOOTSTRAP_API_KEY,
    tool: (name, body) => started.tool(name, body, ENV.BOOTSTRAP_API_KEY),
  };
  try {
    agentId ??= await createAgent(app);
    await work(app);
  } finally {
    await app.close();
  }
}

/** Runs work with SQL while no process of the service runs. */
async function withDatabase<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

it(
  'fires once after a SIGKILL in the transaction that claims the time and posts the run',
  async () => {
    let id = '';
    await withApi(async (app) => {
      ({ id } = await createSchedule(app, agentId));
    });
    await withDatabase(async (client) => {
      // The transaction waits for this lock after it has claimed the time, and before it stores the run.
      await client.query('BEGIN; LOCK TABLE runs IN SHARE MODE');
      const doomed = new ServiceProcess({ ...ENV, DATABASE_URL: database.url, ROLE: 'api' });
      await withDatabase((other) =>
        other.query(`UPDATE schedules SET next_run_at = now() - interval '1 second' WHERE id = $1`, [id]),
      );
      const pid = await eventually(() =>
        withDatabase(async (other) => {
          const { rows } = await other.query<{ pid: number }>(
            `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%run_post%'`,
          );
          return rows[0]?.pid ?? false;
        }),
      );
      await doomed.kill('SIGKILL');
      // The server would notice only later that its client is gone.
      await withDatabase((other) => other.query('SELECT pg_terminate_backend($1)', [pid]));
      await client.query('ROLLBACK');
      const { rows } = await client.query('SELECT last_run_id FROM schedules WHERE next_run_at < now()');
      expect(rows).toEqual([{ last_run_id: null }]);
      expect((await client.query('SELECT FROM runs')).rowCount).toBe(0);
    });
    await withApi(async (app) => {
      const { last_run } = await scheduleWhen(app, id, (schedule) => schedule.last_run !== null);
      expect(await runsOf(app, id)).toMatchObject([{ id: last_run?.id, status: 'queued' }]);
    });
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
    const processes = [1, 2].map(() => new ServiceProcess({ ...ENV, DATABASE_URL: database.url, ROLE: 'api' }));
    try {
      await Promise.all(processes.map((process) => process.printed(/listens on/)));
      await withApi(async (app) => {
        const ids: string[] = [];
        for (let i = 0; i < 40; i++) ids.push((await createSchedule(app, agentId)).id);
        for (const times of [1, 2]) {
          await makeDue(app, ids);
          for (const id of ids) {
            await scheduleWhen(app, id, ({ next_run_at }) => Date.parse(next_run_at ?? '') > Date.now());
            // The first run is queued until a worker takes it.
            expect(await runsOf(app, id)).toHaveLength(1);
            if (times === 1) continue;
            expect(await scheduleWhen(app, id, ({ last_skipped_at }) => last_skipped_at !== null)).toMatchObject({
              last_skip_reason: 'The previous run was still open.',
            });
          }
        }
      });
    } finally {
      await Promise.all(processes.map((process) => process.kill('SIGTERM')));
    }
  },
  LIMIT_MS,
);
