import { Redis } from 'ioredis';
import { Client } from 'pg';
import { LISTENER_APPLICATION_NAME } from '../../src/events/postgres-listener.js';
import { startTestApp, type TestApp } from './app.js';
import { createTestDatabase } from './database.js';
import { startRedisServer } from './redis-server.js';

/** What the processes of one installation share, and the processes that were started on it. */
export interface StreamBackend {
  /** Another process of the installation; `close` closes it too, if the test has not. */
  start(env?: Record<string, string>): Promise<TestApp>;
  /** Cuts the connections on which the processes hear of new frames. Returns how many there were. */
  cutSignals(): Promise<number>;
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
  return {
    databaseUrl: database.url,
    async start(env: Record<string, string> = {}): Promise<TestApp> {
      const app = await startTestApp({ database, env: { ...shared, ...env } });
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
