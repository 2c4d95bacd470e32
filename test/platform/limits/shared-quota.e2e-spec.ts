import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { callProxy, pathOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { type RedisServer, redisServerCommand, startRedisServer } from '../../support/redis-server.js';
import { stopProcess } from '../../support/stop-process.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

const LIMIT = 500;
const WINDOW_MS = 60_000;
const AT_ONCE = 10;

let upstream: ToolServer;

beforeAll(async () => {
  upstream = await startToolServer('fine');
});
afterAll(() => upstream?.close());

describe.each([
  ['PostgreSQL', false],
  ['Redis', true],
])('a quota counted in %s', (_, onRedis) => {
  let redis: RedisServer | undefined;
  let apps: TestApp[] = [];

  beforeAll(async () => {
    if (onRedis) redis = await startRedisServer(redisServerCommand() ?? 'redis-server');
    const env: Record<string, string> = redis === undefined ? {} : { REDIS_URL: redis.url };
    const first = await startTestApp({ env });
    apps = [first];
    const second = await startTestApp({ env, database: first.database });
    apps.push({ ...second, apiKey: first.apiKey });
  });
  afterAll(async () => {
    for (const app of apps.toReversed()) await app.close();
    await redis?.stop();
  });

  async function limitedConnection(per_minute: number): Promise<string> {
    const [app] = apps as [TestApp];
    const id = await connectTo(app, upstream.url, { rate_limit: { per_minute } });
    // The tools are listed before the calls that are counted.
    await succeed(app, 'CONNECTION_TEST', { id });
    return id;
  }

  /** Sends calls to both processes in turn, some at a time; returns the number of allowed ones. */
  async function callBoth(id: string, calls: number): Promise<number> {
    let [next, allowed] = [0, 0];
    const work = async (): Promise<void> => {
      while (next < calls) {
        const app = apps[next++ % 2] as TestApp;
        const { status } = await callProxy(app, pathOf(app, id), { key: app.apiKey, body: toolCall('fine') });
        expect([200, 429]).toContain(status);
        if (status === 200) allowed += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return allowed;
  }

  it('is exact for a small quota', async () => {
    expect(await callBoth(await limitedConnection(7), 40)).toBe(7);
  });

  it('is exact for a large one', async () => {
    const id = await limitedConnection(LIMIT);
    const startedAt = performance.now();
    const allowed = await callBoth(id, LIMIT + 100);
    // On a slow machine, the calls take longer than a window.
    const windows = 1 + Math.floor((performance.now() - startedAt) / WINDOW_MS);
    expect(allowed).toBeLessThanOrEqual(LIMIT * windows);
    expect(allowed).toBeGreaterThanOrEqual(LIMIT);
  });

  it('is changed for all processes', async () => {
    const id = await limitedConnection(100);
    const [app, second] = apps as [TestApp, TestApp];
    const call = () => callProxy(second, pathOf(app, id), { key: app.apiKey, body: toolCall('fine') });
    expect((await call()).status).toBe(200);
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { rate_limit: { per_minute: 1 } } });
    // The other process has cached the connection for less than a second.
    await eventually(async () => expect((await call()).status).toBe(429));
  });

  if (!onRedis) return;

  it('is enforced by each process alone while the store is silent, and by all together afterwards', async () => {
    const id = await limitedConnection(30);
    expect(await callBoth(id, 10)).toBe(10);
    const resume = stopProcess(redis?.pid ?? -1);
    try {
      // What each process has admitted before counts, too.
      expect(await callBoth(id, 70)).toBe(50);
    } finally {
      resume();
    }
    // Each tries the store again after a second.
    await sleep(1_500);
    expect(await callBoth(id, 20)).toBe(0);
    const other = await limitedConnection(7);
    expect(await callBoth(other, 40)).toBe(7);
  });

  it('is enforced by each process alone while the store is away, and needs none without a limit', async () => {
    const [app] = apps as [TestApp];
    const [limited, unlimited] = [await limitedConnection(3), await connectTo(app, upstream.url)];
    await redis?.stop();
    redis = undefined;
    expect(await callBoth(limited, 20)).toBe(6);
    expect(await callBoth(unlimited, 4)).toBe(4);
    expect(await app.app.get(DataSource).query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
