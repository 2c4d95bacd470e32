import { Redis } from 'ioredis';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/data-source-options.js';
import {
  ExpiredStreams,
  LISTENER_APPLICATION_NAME,
  PostgresRunEventStore,
  STORE_APPLICATION_NAME,
} from '../../src/runtime/events/postgres-run-event-store.js';
import { RedisRunEventStore } from '../../src/runtime/events/redis-run-event-store.js';
import type { RunEventExpiry, RunEventStore } from '../../src/runtime/events/run-event-store.js';
import { createTestDatabase } from './database.js';
import { redisAddress, startRedisServer } from './redis-server.js';

/** One backend of the event bus, with stores on it as several processes would have them. */
export interface EventStoreBackend {
  /** A store of its own connections. `close` closes it too. */
  store(expiry?: RunEventExpiry): RunEventStore;
  /** Cuts the connections on which signals arrive. */
  cutSignals(): Promise<void>;
  /** Cuts every connection of every store. */
  cutAll(): Promise<void>;
  /** Takes away what was written from frame `n` on, which begins a batch, as a crash of the server does. */
  forget(runId: string, n: number): Promise<void>;
  /** The number of the first frame of each stored batch, in order. */
  batchStarts(runId: string): Promise<number[]>;
  /** Makes a run expire at once. */
  expire(runId: string): Promise<void>;
  /** Deletes what has expired, where the server does not do so itself. */
  deleteExpired(): Promise<void>;
  /** How many rows or keys a run takes up. */
  footprint(runId: string): Promise<number>;
  close(): Promise<void>;
}

interface EvictingBackend {
  /** Takes away all frames of a run, as a server that is short of memory does, but not what is known of it. */
  evictFrames(runId: string): Promise<void>;
}

const silent = (): void => undefined;

/** A new database on the test server. */
export async function postgresBackend(): Promise<EventStoreBackend> {
  const database = await createTestDatabase();
  const databaseUrl = database.url;
  const admin = new Client({ connectionString: databaseUrl });
  await admin.connect();
  const dataSource = await new DataSource(dataSourceOptions(databaseUrl)).initialize();

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
    async forget(runId, n) {
      await admin.query(
        `WITH lost AS (DELETE FROM run_event_batches WHERE run_id = $1 AND first_n >= $2)
         UPDATE run_event_streams SET next_n = $2, ended = false WHERE run_id = $1`,
        [runId, n],
      );
    },
    async batchStarts(runId) {
      const { rows } = await admin.query<{ first_n: number }>(
        'SELECT first_n FROM run_event_batches WHERE run_id = $1 ORDER BY first_n',
        [runId],
      );
      return rows.map(({ first_n }) => first_n);
    },
    async expire(runId) {
      await admin.query('UPDATE run_event_streams SET expires_at = now() WHERE run_id = $1', [runId]);
    },
    async deleteExpired() {
      await new ExpiredStreams(dataSource).deleteExpired();
    },
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
      await dataSource.destroy();
      await database.drop();
    },
  };
}

/** A server of its own on a free port, without persistence. */
export async function redisBackend(command: string): Promise<EventStoreBackend & EvictingBackend> {
  const server = await startRedisServer(command);
  const redisUrl = server.url;
  const admin = new Redis(redisUrl, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  admin.on('error', silent);
  await admin.ping();

  const stores: RunEventStore[] = [];
  const keyOf = async (runId: string): Promise<string> => (await admin.keys(`sbx:{*}:run:${runId}`))[0] ?? '';
  return {
    store(expiry) {
      const store = new RedisRunEventStore({ address: redisAddress(redisUrl), log: silent, ...expiry });
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
    async forget(runId, n) {
      const key = await keyOf(runId);
      const lost = await admin.xrange(`${key}:frames`, n, '+');
      const results = await admin
        .multi()
        .xdel(`${key}:frames`, ...lost.map(([id]) => id))
        // A server that has lost the entries knows nothing of their ids.
        .call('XSETID', `${key}:frames`, `${n - 1}-${Math.max(n - 1, 1)}`)
        .hset(key, { next: n, ended: 0 })
        .exec();
      for (const [error] of results ?? []) if (error !== null) throw error;
    },
    async batchStarts(runId) {
      const batches = await admin.xrange(`${await keyOf(runId)}:frames`, '-', '+');
      return batches.map(([id]) => Number(id.split('-')[1]));
    },
    async expire(runId) {
      const key = await keyOf(runId);
      await admin.del(key, `${key}:frames`);
    },
    deleteExpired: () => Promise.resolve(),
    async evictFrames(runId) {
      await admin.del(`${await keyOf(runId)}:frames`);
    },
    footprint: async (runId) => (await admin.keys(`*${runId}*`)).length,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      admin.disconnect();
      await server.stop();
    },
  };
}
