import { Redis } from 'ioredis';
import { Client } from 'pg';
import { LISTENER_APPLICATION_NAME } from '../../src/events/postgres-listener.js';
import { PostgresRunEventStore, STORE_APPLICATION_NAME } from '../../src/events/postgres-run-event-store.js';
import { RedisRunEventStore } from '../../src/events/redis-run-event-store.js';
import type { RunEventExpiry, RunEventStore } from '../../src/events/run-event-store.js';
import { createTestDatabase } from './database.js';
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

/** A new database on the test server. */
export async function postgresBackend(): Promise<EventStoreBackend> {
  const database = await createTestDatabase();
  const databaseUrl = database.url;
  const admin = new Client({ connectionString: databaseUrl });
  await admin.connect();

  const stores: RunEventStore[] = [];
  const cut = async (...applicationNames: string[]): Promise<void> => {
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ANY ($1)',
      [applicationNames],
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
      const { rows } = await admin.query<{ rows: number }>(
        `SELECT (SELECT count(*) FROM run_event_streams WHERE run_id = $1)::integer
              + (SELECT count(*) FROM run_event_batches WHERE run_id = $1)::integer AS rows`,
        [runId],
      );
      return rows[0]?.rows ?? 0;
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await admin.end();
      await database.drop();
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
