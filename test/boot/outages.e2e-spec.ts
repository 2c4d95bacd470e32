import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import supertest from 'supertest';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createAgent, openStream, ThreadClient } from '../support/agent-runs.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/problem.js';
import { type RedisServer, redisServerCommand, startRedisServer } from '../support/redis-server.js';
import { startTestService, type TestService } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { eventually } from '../support/eventually.js';

const redisServer = redisServerCommand();
const START_MS = 120_000;
/** Extra time of a busy machine, in addition to the second or two of a rejection. */
const SOON_MS = 8_000;
const STOP_WITHIN_MS = 15_000;

let database: TestDatabase;
let redis: RedisServer;
let toDatabase: TcpProxy;
let toRedis: TcpProxy;
let env: Record<string, string>;

const ifRedis = redisServer === undefined ? describe.skip : describe;

beforeAll(async () => {
  if (redisServer === undefined) return;
  [database, redis] = await Promise.all([createTestDatabase(), startRedisServer(redisServer)]);
  toDatabase = await startTcpProxy(database.url);
  toRedis = await startTcpProxy(redis.url);
  env = {
    DATABASE_URL: through(toDatabase, database.url),
    REDIS_URL: through(toRedis, redis.url),
    ENCRYPTION_KEYS: generateEncryptionKey('outages'),
  };
}, START_MS);

afterAll(async () => {
  await Promise.all([toDatabase?.close(), toRedis?.close()]);
  await redis?.stop();
  await database?.drop();
});

ifRedis('while Redis is unavailable', () => {
  let app: TestService;
  let thread: ThreadClient;

  beforeAll(async () => {
    const { REDIS_URL = '', ENCRYPTION_KEYS = '' } = env;
    app = await startTestService({ database, env: { REDIS_URL, ENCRYPTION_KEYS, ROLE: 'api' } });
    thread = await ThreadClient.create(app, await createAgent(app));
  }, START_MS);

  afterAll(() => app?.close());

  it.each([
    ['refuses connections', () => toRedis.cut(), () => toRedis.restore()],
    ['stops responding', async () => toRedis.freeze(), async () => toRedis.thaw()],
  ])(
    'and %s, requests that need it fail fast, and none returns 500',
    async (_, interrupt, restore) => {
      const queued = await thread.postMessage('waits for a worker');
      await interrupt();

      const cancelling = await soon(thread.cancel(queued));
      expectProblem(cancelling, 503, 'storage_unavailable');
      expect(cancelling.headers['retry-after']).toBe('1');
      expectProblem(await soon(app.tool('RUN_CANCEL', { id: queued })), 503, 'storage_unavailable');
      for (const options of [{}, { query: { taskId: queued } }]) {
        const stream = await soon(openStream(app.url, app.org, thread.id, app.apiKey, options));
        expect({ status: stream.status, body: JSON.parse(await stream.text()) }).toMatchObject({
          status: 503,
          body: { code: 'storage_unavailable' },
        });
      }
      expect((await soon(app.tool('RUN_GET', { id: queued }))).body.item.status).toBe('queued');
      // The message is stored; its run is enqueued again when Redis is available.
      expect(await soon(thread.postMessage('posted meanwhile'))).toEqual(expect.any(String));

      await restore();
      await until(202, () => thread.cancel());
      expect((await thread.run(queued)).status).toBe('cancelled');
    },
    START_MS,
  );

  it(
    'because its memory is full, the service is not ready',
    async () => {
      const admin = new Redis(redis.url);
      const ready = () => supertest(app.url).get('/health/ready');
      try {
        await until(200, ready);
        await admin.config('SET', 'maxmemory', '1');
        const { body } = await until(503, ready);
        expect(body.checks).toMatchObject({ database: 'ok', queue: 'unavailable', redis: 'unavailable' });
        await admin.config('SET', 'maxmemory', '0');
        await until(200, ready);
      } finally {
        await admin.config('SET', 'maxmemory', '0');
        admin.disconnect();
      }
    },
    START_MS,
  );
});

/** Repeats a request until its answer has this status: a result is shared for half a second. */
function until(status: number, request: () => supertest.Test): Promise<supertest.Response> {
  return eventually(async () => {
    const answer = await request();
    expect({ status: answer.status, body: answer.body as unknown }).toMatchObject({ status });
    return answer;
  });
}

ifRedis('a process that receives a stop signal', () => {
  const outages: [string, () => unknown, () => unknown][] = [
    ['Redis is unavailable', () => toRedis.cut(), () => toRedis.restore()],
    ['PostgreSQL is unavailable', () => toDatabase.cut(), () => toDatabase.restore()],
    [
      'both have stopped responding',
      () => [toDatabase.freeze(), toRedis.freeze()],
      () => [toDatabase.thaw(), toRedis.thaw()],
    ],
  ];

  it.each(outages)(
    'ends within 15 s with exit code 0 while %s, in every role',
    async (_, interrupt, restore) => {
      const processes = ['api', 'worker', 'all'].map(
        (role) => new ServiceProcess({ ...env, ROLE: role, LOG_LEVEL: 'debug' }),
      );
      await Promise.all(processes.map((one) => one.printed(/successfully started/)));
      await interrupt();
      const told = performance.now();
      const codes = await Promise.all(processes.map((one) => one.kill('SIGTERM')));
      expect(codes).toEqual([0, 0, 0]);
      expect(performance.now() - told).toBeLessThan(STOP_WITHIN_MS + 2_000);
      await restore();
    },
    START_MS,
  );
});

async function soon<T>(answer: PromiseLike<T>): Promise<T> {
  const asked = performance.now();
  const answered = await answer;
  expect(performance.now() - asked).toBeLessThan(SOON_MS);
  return answered;
}
