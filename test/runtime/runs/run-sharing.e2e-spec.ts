import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UIMessage } from 'ai';
import { connect, createAgent, LONG, succeed, ThreadClient } from '../../support/agent-runs.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTestService, type TestService } from '../../support/service.js';
import { type RedisServer, redisServerCommand, startRedisServer } from '../../support/redis-server.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { eventually } from '../../support/eventually.js';

const STEP_MS = 300;

let upstream: ScriptedServer;
/** The calls of tools go on when it resolves. */
let gate: Promise<void> | undefined;

beforeAll(async () => {
  const { script } = legacyServer(async ({ message }, response) => {
    if (message.method === 'tools/call') await Promise.all([gate, sleep(STEP_MS)]);
    const tools = [{ name: 'slow', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
    const content = [{ type: 'text', text: 'done' }];
    sendResult(response, message, message.method === 'tools/call' ? { content } : { tools });
  });
  upstream = await startScripted(script);
});
afterAll(() => upstream?.close());

function slowSteps(count: number): string {
  return Array.from({ length: count }, () => '/call slow {}').join('\n');
}

/** The same service as a caller with this key sees it. */
function withKey(app: TestService, key: string): TestService {
  return { ...app, apiKey: key, tool: (name, body) => app.tool(name, body, key) };
}

async function withNewKey(app: TestService): Promise<TestService> {
  const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', {
    name: 'sharer',
    permissions: { self: ['*'], '*': ['*'] },
  });
  return withKey(app, key);
}

interface Posted {
  thread: ThreadClient;
  taskId: string;
}

async function post(app: TestService, agentId: string, text: string): Promise<Posted> {
  const thread = await ThreadClient.create(app, agentId);
  return { thread, taskId: await thread.postMessage(text) };
}

async function postMany(app: TestService, agentId: string, count: number, text: string): Promise<Posted[]> {
  return Promise.all(Array.from({ length: count }, () => post(app, agentId, text)));
}

describe.each([
  ['PostgreSQL', false],
  ['Redis', true],
])('with the queue on %s', (_, onRedis) => {
  let redis: RedisServer | undefined;
  let database: TestDatabase;
  let agentId: string;
  /** The key that made the agent: only the first process prints one. */
  let apiKey: string | undefined;
  /** By their slots. */
  const processes = new Map<number, TestService>();

  beforeAll(async () => {
    if (onRedis) redis = await startRedisServer(redisServerCommand() ?? 'redis-server');
    database = await createTestDatabase();
  });
  afterEach(async () => {
    gate = undefined;
    const [app] = processes.values();
    if (app === undefined) return;
    const unfinishedRuns = `SELECT DISTINCT thread_id FROM runs WHERE status IN ('queued', 'running')`;
    for (const { thread_id: id } of await app.query<{ thread_id: string }>(unfinishedRuns))
      await new ThreadClient(app, agentId, id).cancel().expect(202);
    await eventually(async () => expect(await unfinished(app)).toBe(0));
  });
  afterAll(async () => {
    await end(() => true);
    await database?.drop();
    await redis?.stop();
  });

  /** The service as one process with so many slots, which the tests before may have started. */
  async function serviceOf(slots: number): Promise<TestService> {
    await end((others) => others !== slots);
    return processes.get(slots) ?? start(slots);
  }

  /** Starts a process of the service, beside those that run. */
  async function start(slots: number): Promise<TestService> {
    const redisUrl: Record<string, string> = redis === undefined ? {} : { REDIS_URL: redis.url };
    const started = await startTestService({ env: { RUN_CONCURRENCY: String(slots), ...redisUrl }, database });
    const app = apiKey === undefined ? started : withKey(started, apiKey);
    processes.set(slots, app);
    if (apiKey === undefined) {
      apiKey = app.apiKey;
      agentId = await createAgent(app, [await connect(app, upstream.url)], { max_steps: 100 });
    }
    return app;
  }

  async function end(isUnwanted: (slots: number) => boolean): Promise<void> {
    for (const [slots, app] of processes) {
      if (!isUnwanted(slots)) continue;
      processes.delete(slots);
      await app.close();
    }
  }

  async function running(app: TestService): Promise<number> {
    const [found] = await app.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM runs WHERE status = 'running'`,
    );
    return found?.count ?? 0;
  }

  async function untilRunning(app: TestService, expected: number): Promise<void> {
    expect(await eventually(async () => (await running(app)) >= expected && running(app))).toBe(expected);
  }

  it('a run yields its slot between two steps to a key with fewer, and continues later', async () => {
    const app = await serviceOf(2);
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    gate = promise;
    const busy = await postMany(app, agentId, 3, slowSteps(8));
    await untilRunning(app, 2);
    const guest = await post(await withNewKey(app), agentId, 'Hello');
    goOn();
    const { finished_at: guestEnd } = await guest.thread.waitFor(guest.taskId, 'completed');
    for (const { thread, taskId } of busy) {
      const { parts } = await thread.expectWhole(taskId, await thread.collect(taskId, 30_000));
      const calls = (parts as UIMessage['parts']).filter(({ type }) => type === 'dynamic-tool');
      expect(calls).toEqual(Array(8).fill(expect.objectContaining({ state: 'output-available' })));
    }
    const ended = await Promise.all(busy.map(({ thread, taskId }) => thread.run(taskId)));
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(Math.max(...ended.map(({ attempt }) => attempt))).toBeGreaterThan(1);
    for (const { finished_at } of ended)
      expect(Date.parse(finished_at ?? '')).toBeGreaterThan(Date.parse(guestEnd ?? ''));
  });

  it('a key does not yield to itself, nor to one that would then have less than it', async () => {
    const app = await serviceOf(2);
    const own = await postMany(app, agentId, 4, slowSteps(3));
    for (const { thread, taskId } of own) {
      expect(await thread.waitFor(taskId, 'completed')).toMatchObject({ attempt: 1 });
    }
  });

  it('a run that has yielded can be cancelled, and keeps its answer', async () => {
    const app = await serviceOf(2);
    const own = await postMany(app, agentId, 2, slowSteps(30));
    await untilRunning(app, 2);
    const guest = await post(await withNewKey(app), agentId, LONG);
    await guest.thread.waitFor(guest.taskId, 'running');
    const states = await Promise.all(own.map(({ thread, taskId }) => thread.run(taskId)));
    const { thread, taskId } = own[states.findIndex(({ status }) => status === 'queued')] as Posted;
    expect((await thread.cancel(taskId)).status).toBe(202);
    expect(await thread.run(taskId)).toMatchObject({ status: 'cancelled', attempt: 2 });
    const { chunks } = await thread.collect(taskId);
    expect(chunks.at(-1)).toEqual({ type: 'abort', reason: 'cancelled' });
    const { parts, metadata } = await thread.answer(taskId);
    expect(parts.length).toBeGreaterThan(0);
    expect(metadata).toMatchObject({ taskId, aborted: true });
  });

  it('many waiting runs of one key do not keep another waiting', async () => {
    const app = await serviceOf(2);
    const threads = await Promise.all(Array.from({ length: 60 }, () => ThreadClient.create(app, agentId)));
    const mine = await ThreadClient.create(await withNewKey(app), agentId);
    await Promise.all(threads.map((thread) => thread.postMessage('/wait 1000')));
    const before = await unfinished(app);
    expect(before).toBeGreaterThan(30);
    const taskId = await mine.postMessage('Hello');
    await mine.waitFor(taskId, 'completed');
    expect(await unfinished(app)).toBeGreaterThan(before / 2);
  });

  it('all runs of a waiting key are executed, in order on each thread, by several workers', async () => {
    const app = await serviceOf(2);
    await start(1);
    const threads = await Promise.all(Array.from({ length: 6 }, () => ThreadClient.create(app, agentId)));
    const posted = await Promise.all(
      threads.map(async (thread) => {
        const taskIds: string[] = [];
        for (let n = 0; n < 4; n++) taskIds.push(await thread.postMessage(`/wait 20\n/call slow {}`));
        return { thread, taskIds };
      }),
    );
    for (const { thread, taskIds } of posted) {
      for (const taskId of taskIds) await thread.waitFor(taskId, 'completed');
      const runs = await Promise.all(taskIds.map((taskId) => thread.run(taskId)));
      const times = runs.map(({ started_at, finished_at }) => [started_at, finished_at]).flat();
      expect(times).toEqual(times.toSorted());
    }
  }, 60_000);

  it('one slot is shared by turns', async () => {
    const app = await serviceOf(1);
    const [first] = await postMany(app, agentId, 1, slowSteps(40));
    await untilRunning(app, 1);
    const guest = await post(await withNewKey(app), agentId, 'Hello');
    await guest.thread.waitFor(guest.taskId, 'completed');
    const { thread, taskId } = first as Posted;
    expect(['queued', 'running']).toContain((await thread.run(taskId)).status);
  });

  it('one key uses most slots, and leaves some to other keys and organizations', async () => {
    const app = await serviceOf(6);
    await postMany(app, agentId, 12, LONG);
    await untilRunning(app, 4);
    const other = await withNewKey(app);
    const guest = await post(other, agentId, 'Hello');
    await guest.thread.waitFor(guest.taskId, 'completed');
    const [occupying, waiting] = [await post(other, agentId, LONG), await post(other, agentId, LONG)];
    await occupying.thread.waitFor(occupying.taskId, 'running');
    await sleep(300);
    expect(await running(app)).toBe(5);
    expect((await waiting.thread.run(waiting.taskId)).status).toBe('queued');
  });

  async function unfinished(app: TestService): Promise<number> {
    const [found] = await app.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM runs WHERE status IN ('queued', 'running')`,
    );
    return found?.count ?? 0;
  }
});
