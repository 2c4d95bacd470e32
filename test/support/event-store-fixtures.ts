import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { RunEvents1763700000100 } from '../../src/database/migrations/1763700000100-run-events.js';
import { LISTENER_APPLICATION_NAME } from '../../src/events/postgres-listener.js';
import { PostgresRunEventStore, STORE_APPLICATION_NAME } from '../../src/events/postgres-run-event-store.js';
import { RedisRunEventStore } from '../../src/events/redis-run-event-store.js';
import type { RunEventExpiry, RunEventStore } from '../../src/events/run-event-store.js';
import { startRedisServer } from './redis-server.js';

/** One backend of the event bus, with stores on it as several processes would have them. */
export interface EventStoreBackend {
  /** A store of its own connections. `close` closes it too. */
  store(expiry?: RunEventExpiry): RunEventStore;
  /** Cuts the connections on which signals arrive. */
  cutSignals(): Promise<void>;
  /** Cuts every connection of every store. */
  cutAll(): Promise<void>;
  /** How many rows or keys a run takes up. */
  footprint(runId: string): Promise<number>;
  close(): Promise<void>;
}

const silent = (): void => undefined;

/** A new database on the server at `TEST_DATABASE_URL`. */
export async function postgresBackend(): Promise<EventStoreBackend> {
  const serverUrl = process.env.TEST_DATABASE_URL;
  if (serverUrl === undefined) {
    throw new Error('TEST_DATABASE_URL must name a PostgreSQL server on which databases can be created');
  }
  const admin = new Client({ connectionString: serverUrl });
  await admin.connect();
  const database = `events_${randomBytes(6).toString('hex')}`;
  await admin.query(`CREATE DATABASE ${database}`);
  const url = new URL(serverUrl);
  url.pathname = database;
  const databaseUrl = url.href;
  const source = new DataSource({ type: 'postgres', url: databaseUrl, migrations: [RunEvents1763700000100] });
  await source.initialize();
  await source.runMigrations();

  const stores: RunEventStore[] = [];
  const cut = async (...applicationNames: string[]): Promise<void> => {
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name = ANY ($2)',
      [database, applicationNames],
    );
  };
  return {
    store(expiry) {
      const store = new PostgresRunEventStore({ databaseUrl, log: silent, ...expiry });
      stores.push(store);
      return store;
    },
    cutSignals: () => cut(LISTENER_APPLICATION_NAME),
    cutAll: () => cut(LISTENER_APPLICATION_NAME, STORE_APPLICATION_NAME),
    async footprint(runId) {
      const [row] = await source.query<{ rows: number }[]>(
        `SELECT (SELECT count(*) FROM run_event_streams WHERE run_id = $1)::integer
              + (SELECT count(*) FROM run_event_batches WHERE run_id = $1)::integer AS rows`,
        [runId],
      );
      return row?.rows ?? 0;
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await source.undoLastMigration();
      await source.destroy();
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
      await admin.end();
    },
  };
}

/** A server of its own on a free port, without persistence. */
export async function redisBackend(command: string): Promise<EventStoreBackend> {
  const server = await startRedisServer(command);
  const redisUrl = server.url;
  const admin = new Redis(redisUrl, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  admin.on('error', silent);
  await admin.ping();

  const stores: RunEventStore[] = [];
  return {
    store(expiry) {
      const store = new RedisRunEventStore({ redisUrl, log: silent, ...expiry });
      stores.push(store);
      return store;
    },
    async cutSignals() {
      await admin.client('KILL', 'TYPE', 'pubsub');
    },
    async cutAll() {
      await admin.client('KILL', 'TYPE', 'pubsub');
      await admin.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    footprint: async (runId) => (await admin.keys(`*${runId}*`)).length,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      admin.disconnect();
      await server.stop();
    },
  };
}
