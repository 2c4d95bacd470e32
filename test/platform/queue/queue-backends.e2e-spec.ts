import { setTimeout as sleep } from 'node:timers/promises';
import { getQueueToken } from '@nestjs/bullmq';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PostgresQueueBackend, QueueBase } from 'bullmq';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { ServiceQueue, ServiceWorker } from '../../../src/platform/queue/service-queue.js';
import { queueOptions } from '../../../src/platform/queue/queue-backend.js';
import { RUN_QUEUE } from '../../../src/runtime/runs/run-queue.js';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type RedisServer, redisAddress, redisServerCommand, startRedisServer } from '../../support/redis-server.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';
import { eventually } from '../../support/eventually.js';

const START_MS = 60_000;
/** A bounded close takes less, also on a busy machine; an unbounded one never ends. */
const BOUNDED_MS = 8_000;
const redisServer = redisServerCommand();
const ifRedis = redisServer === undefined ? describe.skip : describe;

const count = async (app: TestApp, sql: string, values: unknown[] = []): Promise<number> => {
  const [{ count: found }] = await app.app.get(DataSource).query(`SELECT count(*)::int AS count FROM ${sql}`, values);
  return found as number;
};
/** Whether the run queue has registered itself in this application's PostgreSQL. */
const isOnPostgres = async (app: TestApp): Promise<boolean> =>
  (await count(app, 'bullmq.meta WHERE queue = $1', [RUN_QUEUE])) > 0;
/** The number of connections with this name to the application's database. Other specs share the server. */
const connectionsOf = (app: TestApp, name: string): Promise<number> =>
  count(app, 'pg_stat_activity WHERE datname = current_database() AND application_name = $1', [name]);
/** The number of connections on which workers listen. BullMQ names them after the queue. */
const listeners = (app: TestApp): Promise<number> => connectionsOf(app, RUN_QUEUE);

ifRedis('an application on Redis and one on PostgreSQL in one process', () => {
  let redis: RedisServer;
  let onRedis: TestApp;
  let onPostgres: TestApp;

  beforeAll(async () => {
    redis = await startRedisServer(redisServer ?? '');
    onRedis = await startTestApp({ env: { REDIS_URL: redis.url } });
    onPostgres = await startTestApp();
  }, START_MS);

  afterAll(async () => {
    await onPostgres?.close();
    await onRedis?.close();
    await redis?.stop();
  });

  it('both execute runs, each with its own queue', async () => {
    const apps = [onRedis, onPostgres];
    const threads = await Promise.all(apps.map(async (app) => ThreadClient.create(app, await createAgent(app))));
    for (const thread of threads) {
      const taskId = await thread.postMessage('Hello');
      await thread.waitFor(taskId, 'completed');
    }
    expect(await Promise.all(apps.map(isOnPostgres))).toEqual([false, true]);
    const client = new Redis(redis.url);
    expect(await client.keys('{sbx-queue}:*')).toContain(`{sbx-queue}:${RUN_QUEUE}:meta`);
    client.disconnect();
  });
});

describe('a queue on PostgreSQL', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { ROLE: 'api' } });
  }, START_MS);
  afterAll(() => app?.close());

  it('uses asynchronous commits and respects its connection limit', async () => {
    const { connection } = (app.app.get(getQueueToken(RUN_QUEUE), { strict: false }) as ServiceQueue)
      .backend as unknown as PostgresQueueBackend;
    const show = async (setting: string): Promise<unknown> =>
      (await connection.pool.query(`SELECT current_setting('${setting}') AS value`)).rows[0].value;
    expect(await show('synchronous_commit')).toBe('off');
    expect(await show('search_path')).toBe('"bullmq"');
    expect(await show('application_name')).toBe('signalbox-queue');
    await Promise.all(Array.from({ length: 12 }, () => connection.pool.query('SELECT pg_sleep(0.1)')));
    expect(await connectionsOf(app, 'signalbox-queue')).toBeLessThanOrEqual(6);
  });

  it('has a worker only in a role that executes runs', async () => {
    expect(await listeners(app)).toBe(0);
    const worker = await startTestApp({ database: app.database, env: { ROLE: 'worker' } });
    await eventually(async () => expect(await listeners(app)).toBe(1));
    await worker.close();
    expect(await listeners(app)).toBe(0);
  });
});

describe('a queue that is opened while PostgreSQL is unavailable', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await startTcpProxy(database.url);
  }, START_MS);
  afterAll(async () => {
    await proxy?.close();
    await database?.drop();
  });

  it('works when PostgreSQL is available again', async () => {
    await proxy.cut();
    const options = queueOptions({ redis: undefined, databaseUrl: through(proxy, database.url) });
    const queue = new ServiceQueue('late', options);
    await expect(queue.add('attempt', {})).rejects.toThrow();
    await proxy.restore();
    await queue.add('attempt', {});
    expect(await queue.getWaitingCount()).toBe(1);
    await queue.close();
  });
});

ifRedis('while Redis is silent', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;

  beforeAll(async () => {
    redis = await startRedisServer(redisServer ?? '');
    proxy = await startTcpProxy(redis.url);
  }, START_MS);
  afterAll(async () => {
    await proxy?.close();
    await redis?.stop();
  });

  it('a queue and a worker close within the limit and do not reconnect', async () => {
    const options = queueOptions({ redis: redisAddress(through(proxy, redis.url)), databaseUrl: '' });
    const queue = new ServiceQueue(RUN_QUEUE, options);
    const worker = new ServiceWorker(RUN_QUEUE, async () => undefined, options);
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    proxy.freeze();

    const startedAt = performance.now();
    await Promise.all([queue.close(), worker.close(false, 300)]);
    // Nest closes workers again, without a limit.
    await worker.close();
    expect(performance.now() - startedAt).toBeLessThan(BOUNDED_MS);

    // Pending operations also end, when the server responds or ioredis times out.
    await Promise.all([untilClosed(queue), untilClosed(worker)]);
    const connections = proxy.connections();
    proxy.thaw();
    await sleep(1_000);
    expect(proxy.connections()).toBe(connections);
  });
});

async function untilClosed(instance: QueueBase): Promise<void> {
  await eventually(() => expect(Reflect.get(instance, 'closed')).toBe(true));
}
