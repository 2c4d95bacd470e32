import { Redis } from 'ioredis';
import { Client } from 'pg';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { LISTENER_APPLICATION_NAME } from '../../src/runtime/events/postgres-run-event-store.js';
import { startTestApp, type TestApp } from './app.js';
import { createTestDatabase } from './database.js';
import { startRedisServer } from './redis-server.js';

/** What the processes of one installation share, and the processes that were started on it. */
export interface StreamBackend {
  /** Another process of the installation; `close` closes it too, if the test has not. */
  start(env?: Record<string, string>): Promise<TestApp>;
  /** Cuts the connections on which the processes hear of new frames. Returns how many there were. */
  cutSignals(): Promise<number>;
  /**
   * Takes away what is stored of a run's frames after frame `n`, and its end, as a crash of the server does; 0 takes
   * all.
   */
  lose(runId: string, n: number): Promise<void>;
  /** What the processes need to know of the backend, for one that the test starts as a process of its own. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** Frames travel through PostgreSQL. */
export async function postgresStreams(): Promise<StreamBackend> {
  const installation = await startInstallation({});
  return {
    start: installation.start,
    async cutSignals() {
      const client = new Client({ connectionString: installation.databaseUrl });
      await client.connect();
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = $1`,
        [LISTENER_APPLICATION_NAME],
      );
      await client.end();
      return rowCount ?? 0;
    },
    async lose(runId, n) {
      const client = new Client({ connectionString: installation.databaseUrl });
      await client.connect();
      await client.query('BEGIN');
      // What a worker writes comes before or after.
      await client.query('SELECT FROM run_event_streams WHERE run_id = $1 FOR UPDATE', [runId]);
      await client.query('DELETE FROM run_event_batches WHERE run_id = $1 AND last_n > $2', [runId, n]);
      await client.query(
        `UPDATE run_event_streams SET ended = false, next_n = 1 + (
           SELECT coalesce(max(last_n), 0) FROM run_event_batches WHERE run_id = $1) WHERE run_id = $1`,
        [runId],
      );
      if (n === 0) await client.query('DELETE FROM run_event_streams WHERE run_id = $1', [runId]);
      await client.query('COMMIT');
      await client.end();
    },
    env: installation.env,
    close: installation.close,
  };
}

/** Frames travel through Redis. */
export async function redisStreams(command: string): Promise<StreamBackend> {
  const server = await startRedisServer(command);
  const installation = await startInstallation({ REDIS_URL: server.url });
  const admin = new Redis(server.url);
  return {
    start: installation.start,
    cutSignals: async () => Number(await admin.client('KILL', 'TYPE', 'pubsub')),
    async lose(runId, n) {
      const [run = ''] = await admin.keys(`sbx:{*}:run:${runId}`);
      const frames = `${run}:frames`;
      if (n === 0) {
        await admin.del(run, frames);
        return;
      }
      const batches = (await admin.xrange(frames, '-', '+')).map(([id]) => id);
      const kept = batches.filter((id) => Number(id.split('-')[0]) <= n);
      if (kept.length < batches.length) await admin.xdel(frames, ...batches.slice(kept.length));
      const last = kept.at(-1) ?? '0-1';
      // A server that has lost the entries knows nothing of their ids.
      await admin.call('XSETID', frames, last);
      await admin.hset(run, { next: Number(last.split('-')[0]) + 1, ended: 0 });
    },
    env: installation.env,
    async close() {
      await installation.close();
      admin.disconnect();
      await server.stop();
    },
  };
}

async function startInstallation(shared: Record<string, string>) {
  const database = await createTestDatabase();
  const apps = new Set<TestApp>();
  const keys = { ENCRYPTION_KEYS: generateEncryptionKey('streams') };
  return {
    databaseUrl: database.url,
    env: { ...shared, ...keys, DATABASE_URL: database.url },
    async start(env: Record<string, string> = {}): Promise<TestApp> {
      const app = await startTestApp({ database, env: { ...shared, ...keys, ...env } });
      apps.add(app);
      const close = async (): Promise<void> => {
        if (apps.delete(app)) await app.close();
      };
      return { ...app, close };
    },
    async close(): Promise<void> {
      for (const app of apps) await app.close();
      await database.drop();
    },
  };
}
