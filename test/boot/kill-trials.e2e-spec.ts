import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { UIMessageChunk } from 'ai';
import { Redis } from 'ioredis';
import supertest from 'supertest';
import { generateApiKey } from '../../src/common/api-key-value.js';
import { generateEncryptionKey } from '../../src/config/encryption-keys.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { createAgent, fold, openStream, ThreadClient } from '../support/agent-runs.js';
import { type RedisServer, redisServerCommand, startRedisServer } from '../support/redis-server.js';
import { ServiceProcess } from '../support/service-process.js';

/** Set `KILL_TRIAL_SECONDS` for longer trials: `KILL_TRIAL_SECONDS=300 npm test -- test/boot/kill-trials --selectProjects e2e`. */
const SECONDS = Number(process.env['KILL_TRIAL_SECONDS'] ?? 25);
const THREADS = 6;
const TEXT = '/random 60\n/wait 400\n/random 60\n/wait 400\n/random 20';
/** Extra time for starting processes and a recovering database. */
const PATIENCE_MS = 90_000;

const backends = ['PostgreSQL', ...(redisServerCommand() === undefined ? [] : ['Redis'])];

let dataDir: string;
let postgres: EmbeddedPostgres;
let redis: RedisServer | undefined;

beforeAll(async () => {
  // The server's user must be able to enter the folder.
  dataDir = await mkdtemp(join(tmpdir(), 'kill-trials-'));
  postgres = await startEmbeddedPostgres({ dataDir });
  const command = redisServerCommand();
  redis = command === undefined ? undefined : await startRedisServer(command);
}, PATIENCE_MS);

afterAll(async () => {
  await postgres?.stop();
  await redis?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

it.each(backends)(
  'every run ends and its stream matches the transcript while workers and %s are killed at random',
  async (backend) => {
    const key = generateApiKey();
    const env = {
      DATABASE_URL: postgres.url,
      ENCRYPTION_KEYS: generateEncryptionKey('trials'),
      BOOTSTRAP_ORG: `trial-${backend.toLowerCase()}`,
      BOOTSTRAP_API_KEY: key,
      RUN_LOCK_MS: '2000',
      LOG_LEVEL: 'error',
      STREAM_KEEP_ALIVE_MS: '1000',
      ...(backend === 'Redis' && redis ? { REDIS_URL: redis.url } : {}),
    };
    const api = new ServiceProcess({ ...env, ROLE: 'api' });
    const { url } = await api.listening();
    const started: ServiceProcess[] = [];
    const startWorker = (): ServiceProcess => {
      const worker = new ServiceProcess({ ...env, ROLE: 'worker' });
      started.push(worker);
      return worker;
    };
    const workers = [startWorker(), startWorker()];
    const app = {
      url,
      org: env.BOOTSTRAP_ORG,
      apiKey: key,
      canLoseStreams: backend === 'Redis',
      tool: callerOf(url, env.BOOTSTRAP_ORG, key),
    };
    const agentId = await createAgent(app as never);
    const over = Date.now() + SECONDS * 1000;
    let kills = 0;

    const killing = (async () => {
      while (Date.now() < over) {
        await sleep(1_500 + Math.random() * 2_500);
        kills++;
        const victim = Math.floor(Math.random() * 3);
        if (victim < 2) {
          await workers[victim]?.kill('SIGKILL');
          workers[victim] = startWorker();
        } else if (backend === 'Redis' && redis) await flush(redis.url);
        else await killPostgres(dataDir);
        // A worker that cannot start without the database exits, and the test restarts it.
        workers.forEach((worker, i) => {
          if (worker.hasEnded) workers[i] = startWorker();
        });
      }
    })();
    const results = await Promise.all(Array.from({ length: THREADS }, () => converse(app, agentId, over)));
    await killing;
    const apiLived = !api.hasEnded;
    const [apiEnd] = await Promise.all(
      [api, ...workers].map((one) => (one.hasEnded ? one.exit() : one.kill('SIGTERM'))),
    );
    const faults = results.flatMap((result) => result.faults);
    const read = results.reduce((sum, result) => sum + result.read, 0);
    process.stdout.write(`  ${backend}: ${kills} kills, ${faults.length} runs, ${read} of them read to the end\n`);

    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    // A flush loses the streams of a few runs, and never of most.
    expect(read).toBeGreaterThan(faults.length / 2);
    expect({ apiLived, apiEnd }).toEqual({ apiLived: true, apiEnd: 0 });
    // No process ended with an uncaught error.
    for (const { output } of [api, ...started]) expect(output).not.toMatch(/Unhandled|Uncaught|throw er;/);
  },
  SECONDS * 1000 + 3 * PATIENCE_MS,
);

interface Trial {
  url: string;
  org: string;
  apiKey: string;
  /** Redis is flushed at random, so that the stream of a run that has ended can be gone. */
  canLoseStreams: boolean;
  tool(name: string, body?: object): supertest.Test;
}

interface Conversation {
  /** One for each run; undefined for a run without a fault. */
  readonly faults: (string | undefined)[];
  /** How many runs were read to their end. */
  readonly read: number;
}

/** Posts messages one by one to a thread and checks the reader's result. */
async function converse(app: Trial, agentId: string, over: number): Promise<Conversation> {
  const data = { title: 'Trial', virtual_mcp_id: agentId };
  const created = await insist(() => app.tool('COLLECTION_THREADS_CREATE', { data }), 200);
  const threadId = (created.body as { item: { id: string } }).item.id;
  const thread = new ThreadClient(app as never, agentId, threadId);
  const faults: (string | undefined)[] = [];
  let read = 0;
  while (Date.now() < over) {
    const body = { messages: [{ role: 'user', parts: [{ type: 'text', text: TEXT }] }], agent: { id: agentId } };
    const post = () =>
      supertest(app.url)
        .post(`/api/${app.org}/agent-runtime/threads/${threadId}/messages`)
        .set({ authorization: `Bearer ${app.apiKey}`, 'idempotency-key': `run-${faults.length}` })
        .send(body);
    const { taskId } = (await insist(post, 202)).body as { taskId: string };
    const chunks = await readThrough(app, threadId, taskId);
    if (chunks !== undefined) read++;
    const run = await insist(() => app.tool('RUN_GET', { id: taskId }), 200);
    const list = { thread_id: threadId, limit: 1000 };
    const { items } = (await insist(() => app.tool('COLLECTION_THREAD_MESSAGES_LIST', list), 200)).body as {
      items: { id: string; role: string; parts: unknown; metadata: Record<string, unknown> }[];
    };
    faults.push(await faultOf(run.body.item.status as string, chunks, taskId, items));
    if (items.length !== 2 * faults.length) faults.push(`${items.length} messages after ${faults.length} runs`);
  }
  expect(thread.id).toBe(threadId);
  return { faults, read };
}

async function faultOf(
  status: string,
  chunks: readonly UIMessageChunk[] | undefined,
  taskId: string,
  items: readonly { id: string; role: string; parts: unknown; metadata: Record<string, unknown> }[],
): Promise<string | undefined> {
  if (status !== 'completed') return `${taskId} is ${status}`;
  const answer = items.find(({ role, metadata }) => role === 'assistant' && metadata['taskId'] === taskId);
  if (answer === undefined) return `${taskId} has no answer`;
  if (chunks === undefined) return undefined;
  const { id, role, parts, metadata } = answer;
  const stored = JSON.stringify({ id, role, parts, metadata });
  const { parts: read, metadata: readMetadata, ...message } = (await fold(chunks)) ?? {};
  const received = JSON.stringify({ ...message, parts: read, metadata: readMetadata });
  return sortedJson(received) === sortedJson(stored)
    ? undefined
    : `${taskId} was read as ${received}, stored as ${stored}`;
}

function sortedJson(text: string): string {
  const sort = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return JSON.stringify(JSON.parse(text), sort);
}

/**
 * Reads a run to its `[DONE]`. Reconnects with the last event id whenever the stream breaks or is cut. Undefined if Redis was
 * flushed after the run had ended and before the reader reconnected: the service then answers 410, and the transcript remains.
 */
async function readThrough(app: Trial, threadId: string, taskId: string): Promise<UIMessageChunk[] | undefined> {
  const chunks: UIMessageChunk[] = [];
  let lastEventId: string | undefined;
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(100)) {
    const options = lastEventId === undefined ? { query: { taskId } } : { lastEventId };
    const stream = await openStream(app.url, app.org, threadId, app.apiKey, options);
    if (stream.status !== 200) {
      const text = await stream.text();
      if (stream.status === 410 && app.canLoseStreams) return undefined;
      if (stream.status !== 503) throw new Error(`The stream of ${taskId} returned ${stream.status}: ${text}`);
      continue;
    }
    // Every third reader disconnects now and then.
    let left = Math.random() < 0.3 ? 1 + Math.floor(Math.random() * 80) : Infinity;
    try {
      for await (const { id, data } of stream.frames()) {
        if (data === '[DONE]') return chunks;
        chunks.push(JSON.parse(data) as UIMessageChunk);
        lastEventId = id ?? lastEventId;
        if (--left === 0) break;
      }
    } catch {
      // The connection broke.
    }
    stream.close();
  }
  throw new Error(`The stream of ${taskId} did not end.`);
}

/** Repeats a request while the service responds with 503. */
async function insist(ask: () => supertest.Test, status: number): Promise<supertest.Response> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(200)) {
    const answer = await ask();
    if (answer.status === status) return answer;
    if (answer.status !== 503 || Date.now() > deadline) throw new Error(`${answer.status}: ${answer.text}`);
  }
}

function callerOf(url: string, org: string, key: string): Trial['tool'] {
  return (name, body = {}) =>
    supertest(url).post(`/api/${org}/tools/${name}`).set('authorization', `Bearer ${key}`).send(body);
}

/** Kills the server, which its owner (this process) restarts. */
async function killPostgres(dataDir: string): Promise<void> {
  const file = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(file.split('\n')[0]);
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL');
  } catch {
    // The restart is in progress.
  }
}

async function flush(url: string): Promise<void> {
  const admin = new Redis(url);
  await admin.flushall();
  admin.disconnect();
}
