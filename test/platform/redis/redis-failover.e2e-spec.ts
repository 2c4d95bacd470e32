import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CollectedStream, createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { redisServerCommand } from '../../support/redis-server.js';
import type { RedisProcess } from '../../support/redis-process.js';
import { type RedisTopology, startCluster, startSentinels } from '../../support/redis-topologies.js';
import { stopProcess } from '../../support/stop-process.js';
import { eventually } from '../../support/eventually.js';

const command = redisServerCommand() ?? '';
const ifRedis = command === '' ? describe.skip : describe;
const START_MS = 120_000;
const PATIENCE_MS = 120_000;
const THREADS = 8;
const TEXT = '/random 30\n/wait 400\n/random 30\n/wait 400\n/random 10';

ifRedis.each([
  ['behind Sentinels', startSentinels],
  ['as a cluster', startCluster],
])('Redis %s', (kind, start) => {
  let redis: RedisTopology;
  let api: TestService;
  let worker: TestService;
  let agentId: string;

  beforeAll(async () => {
    redis = await start(command);
    const env = { REDIS_URL: redis.url, RUN_LOCK_MS: '2000' };
    api = await startTestService({ env: { ...env, ROLE: 'api' } });
    worker = await startTestService({ database: api.database, env: { ...env, ROLE: 'worker' } });
    agentId = await createAgent(api);
  }, START_MS);

  afterAll(async () => {
    await worker?.close();
    await api?.close();
    await redis?.stop();
  }, START_MS);

  it('executes and streams runs', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const { taskId, ...stream } = await thread.ask('Hello');
    await thread.expectWhole(taskId, stream);
    await expect(ready(api)).resolves.toBe(200);
    await expect(ready(worker)).resolves.toBe(200);
  });

  it('cancels a run at another process', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const taskId = await thread.postMessage('/wait 60000');
    await thread.waitFor(taskId, 'running');
    await thread.cancel(taskId).expect(202);
    await thread.waitFor(taskId, 'cancelled');
  });

  if (kind === 'as a cluster') {
    it('has all keys of one thread in one slot, and other threads in others', async () => {
      const slots = new Set<number>();
      for (let i = 0; i < 4; i++) {
        const thread = await ThreadClient.create(api, agentId);
        const runs = [await thread.ask('One'), await thread.ask('Two')];
        const keys = await keysOf(redis, ({ key }) => runs.some(({ taskId }) => key.includes(taskId)));
        // A hash and a stream for each run.
        expect(keys).toHaveLength(4);
        const ofThread = new Set(keys.map(({ slot }) => slot));
        expect(ofThread.size).toBe(1);
        ofThread.forEach((slot) => slots.add(slot));
      }
      expect(slots.size).toBeGreaterThan(1);
      const queue = await keysOf(redis, ({ key }) => key.startsWith('{sbx-queue}:'));
      expect(queue.length).toBeGreaterThan(0);
      expect(new Set(queue.map(({ slot }) => slot)).size).toBe(1);
    });
  }

  it.each<[how: string, fail: (master: RedisProcess) => Promise<() => unknown>]>([
    ['hangs', async (master) => stopProcess(master.pid)],
    ['is killed', async (master) => master.kill().then(() => () => master.restart())],
  ])(
    'answers every message once when the master %s while runs go on',
    async (_, fail) => {
      const answered = { runs: 0 };
      let isTakenOver = false;
      const conversations = Array.from({ length: THREADS }, () =>
        converse(
          api,
          agentId,
          () => answered.runs++,
          () => isTakenOver,
        ),
      );
      const failover = (async () => {
        // Every thread has answered once, so that the master holds streams that have ended and streams that go on.
        await eventually(() => expect(answered.runs).toBeGreaterThanOrEqual(THREADS), PATIENCE_MS);
        const master = await redis.findMaster();
        const comeBack = await fail(master);
        await redis.takenOver(master);
        isTakenOver = true;
        return comeBack;
      })();
      const [comeBack, ...threads] = await Promise.all([failover, ...conversations]);
      const { runs } = answered;
      const read = threads.reduce((sum, thread) => sum + thread.read, 0);
      process.stdout.write(`  ${runs} runs, ${read} of them read to the end\n`);
      // A replica can lack the last moments of a stream that has ended; it never lacks most streams.
      expect(read).toBeGreaterThan(runs / 2);
      await untilReady(api);
      await untilReady(worker);

      // The process comes back as a replica, and nothing changes for the service.
      await comeBack();
      await redis.untilWhole();
      const thread = await ThreadClient.create(api, agentId);
      const { taskId, ...stream } = await thread.ask('Hello again');
      await thread.expectWhole(taskId, stream);
    },
    3 * PATIENCE_MS,
  );
});

interface Conversation {
  /** How many runs were read to their end. */
  readonly read: number;
}

/**
 * Posts messages one by one to a thread, one more after `isOver`, and checks that each has one answer, which equals its
 * stream.
 */
async function converse(
  api: TestService,
  agentId: string,
  count: () => void,
  isOver: () => boolean,
): Promise<Conversation> {
  const thread = await ThreadClient.create(api, agentId);
  const taskIds: string[] = [];
  let read = 0;
  for (let isLast = false; !isLast;) {
    isLast = isOver();
    const taskId = await thread.postMessage(TEXT);
    taskIds.push(taskId);
    const stream = await readToEnd(thread, taskId);
    await untilCompleted(thread, taskId);
    if (stream !== undefined) {
      await thread.expectAnswer(taskId, stream);
      read++;
    }
    count();
  }
  const messages = await thread.messages();
  expect(messages.map(({ role }) => role)).toEqual(taskIds.flatMap(() => ['user', 'assistant']));
  const answered = messages.filter(({ role }) => role === 'assistant').map(({ metadata }) => metadata['taskId']);
  expect(answered).toEqual(taskIds);
  expect(await thread.status()).toBe('completed');
  return { read };
}

/** Undefined if the run has ended and the new master does not know its stream: the service then answers 410. */
async function readToEnd(thread: ThreadClient, taskId: string): Promise<CollectedStream | undefined> {
  return eventually(async () => {
    const stream = await thread.stream({ query: { taskId } });
    if (stream.status === 200) return stream.collectUntilDone(PATIENCE_MS);
    const text = await stream.text();
    if (stream.status === 410) return undefined;
    if (stream.status !== 503) throw new Error(`${stream.status}: ${text}`);
    return false;
  }, PATIENCE_MS);
}

async function untilCompleted(thread: ThreadClient, taskId: string): Promise<void> {
  await eventually(async () => expect((await thread.run(taskId)).status).toBe('completed'), PATIENCE_MS);
}

async function ready({ url }: TestService): Promise<number> {
  return (await fetch(`${url}/health/ready`)).status;
}

async function untilReady(app: TestService): Promise<void> {
  await eventually(async () => expect(await ready(app)).toBe(200), PATIENCE_MS);
}

/** The keys of all nodes, without the copies of replicas. */
async function keysOf(
  { nodes }: RedisTopology,
  isWanted: (found: { key: string; slot: number }) => boolean,
): Promise<{ key: string; slot: number }[]> {
  const found = new Map<string, number>();
  for (const node of nodes) {
    await node.ask(async (redis) => {
      for (const key of await redis.keys('*')) found.set(key, Number(await redis.cluster('KEYSLOT', key)));
    });
  }
  return [...found].map(([key, slot]) => ({ key, slot })).filter(isWanted);
}
