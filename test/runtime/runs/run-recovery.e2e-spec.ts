import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import type { MessageItem } from '../../../src/runtime/threads/thread.dto.js';
import {
  type CollectedStream,
  connect,
  createAgent,
  serveTier,
  textOf,
  ThreadClient,
} from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import {
  legacyServer,
  type ScriptedServer,
  type SeenRequest,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';
import { type ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import { eventually } from '../../support/eventually.js';

const RUN_LOCK_MS = 2000;
/** For what waits for processes on a busy machine. */
const START_MS = 60_000;
const PATIENCE_MS = 40_000;
const ENV = {
  RUN_LOCK_MS: String(RUN_LOCK_MS),
  ENCRYPTION_KEYS: generateEncryptionKey('recovery'),
  UPSTREAM_ALLOW_PRIVATE: 'true',
};

let database: TestDatabase;
let api: TestService;
let fake: FakeOpenAI;
let upstream: ScriptedServer;
let agentId: string;
/** A process of its own, which a test leaves to the next one. */
let worker: ServiceProcess | undefined;
/** Each tool's first call gets no answer while this is set. */
let swallowing = true;

beforeAll(async () => {
  database = await createTestDatabase();
  [api, fake, upstream] = await Promise.all([
    startTestService({ database, env: { ...ENV, ROLE: 'api' } }),
    startFakeOpenAI(),
    startScripted(legacyServer(answerToolRequest).script),
  ]);
  agentId = await createAgent(api, [await connect(api, upstream.url)]);
  await serveTier(api, 'thinking', fake, { model: 'fake-model' });
});

afterAll(async () => {
  await worker?.kill('SIGKILL');
  await api?.close();
  await fake?.close();
  await upstream?.close();
  await database?.drop();
});

const TOOLS = {
  look: { readOnlyHint: true },
  put: { readOnlyHint: false, idempotentHint: true },
  send: { readOnlyHint: false, idempotentHint: false },
};

function answerToolRequest({ message }: SeenRequest, response: ServerResponse): void {
  if (message.method === 'tools/call') {
    const tool = String(message.params?.['name']);
    if (!(swallowing && callsOf(tool) === 1))
      sendResult(response, message, { content: [{ type: 'text', text: 'done' }] });
    return;
  }
  const inputSchema = { type: 'object' };
  const tools = Object.entries(TOOLS).map(([name, annotations]) => ({ name, annotations, inputSchema }));
  sendResult(response, message, { tools });
}

function callsOf(tool: string): number {
  return upstream.calls('tools/call').filter(({ message }) => message.params?.['name'] === tool).length;
}

/** Starts the worker unless it runs. */
async function startWorker(): Promise<void> {
  worker ??= await startWorkerProcess({ ...ENV, DATABASE_URL: database.url });
}

/** Starts the worker that takes over, and returns the one before, which stays `worker` if that fails. */
async function replaceWorker(env = ENV): Promise<ServiceProcess | undefined> {
  const before = worker;
  worker = await startWorkerProcess({ ...env, DATABASE_URL: database.url });
  return before;
}

/** Waits until `look` holds, and what has just happened has been streamed, too. */
async function streamed(look: () => unknown): Promise<void> {
  await eventually(look);
  await sleep(200);
}

/** A run with a reader from before its start. */
class WatchedRun {
  private constructor(
    readonly thread: ThreadClient,
    readonly taskId: string,
    private readonly collecting: Promise<CollectedStream>,
  ) {}

  static async start(text: string, tier?: string): Promise<WatchedRun> {
    const thread = await ThreadClient.create(api, agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage(text, tier === undefined ? {} : { tier });
    return new WatchedRun(thread, taskId, stream.collectUntilDone(PATIENCE_MS));
  }

  /** What the reader got, after it was found to be the stored message; and the tool calls in it. */
  async end(): Promise<CollectedStream & { message: MessageItem; toolParts: object[] }> {
    const collected = await this.collecting;
    const message = await this.thread.expectWhole(this.taskId, collected);
    return { ...collected, message, toolParts: message.parts.filter((part) => 'toolCallId' in part) };
  }

  run(): Promise<RunItem> {
    return this.thread.run(this.taskId);
  }
}

describe('when there is no worker', () => {
  it('runs wait for one, and keep their order', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const taskIds = [await thread.postMessage('one'), await thread.postMessage('two')];
    expect(await thread.run(taskIds[0] ?? '')).toMatchObject({ status: 'queued', attempt: 0 });
    await startWorker();
    for (const taskId of taskIds) await thread.expectWhole(taskId, await thread.collect(taskId));
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });
});

describe('a worker whose heartbeats are late', () => {
  it('does not take over the run that it executes', async () => {
    await startWorker();
    const { thread, taskId } = await WatchedRun.start('/wait 600000');
    await thread.waitFor(taskId, 'running');
    // The worker searches for lost runs several times within its lock time.
    for (const until = Date.now() + RUN_LOCK_MS; Date.now() < until;) {
      const late = `UPDATE runs SET heartbeat_at = now() - interval '1 hour' WHERE id = $1 AND status = 'running'`;
      await api.query(late, [taskId]);
    }
    expect(await thread.run(taskId)).toMatchObject({ status: 'running', attempt: 1 });
    await thread.cancel(taskId);
    expect(await thread.waitFor(taskId, 'cancelled')).toMatchObject({ attempt: 1 });
  });
});

describe('when a worker is killed', () => {
  const runs = {} as Record<'answering' | 'look' | 'put' | 'send' | 'unwanted', WatchedRun>;
  let behind: string;
  let killedAt: number;

  beforeAll(async () => {
    await startWorker();
    fake.script({ kind: 'tool-calls', calls: [{ name: 'put', arguments: { n: 1 } }] });
    fake.script({ kind: 'hang-after', deltas: ['Half ', 'an '] }, { kind: 'text', deltas: ['A ', 'whole ', 'one.'] });
    swallowing = false;
    runs.answering = await WatchedRun.start('Go', 'thinking');
    behind = await runs.answering.thread.postMessage('/words 3');
    await streamed(() => expect(fake.requests).toHaveLength(2));
    upstream.requests.length = 0;
    swallowing = true;
    runs.look = await WatchedRun.start('/call look {}');
    runs.put = await WatchedRun.start('/call put {}');
    runs.send = await WatchedRun.start('/call send {}\nand on');
    runs.unwanted = await WatchedRun.start('So far\n/wait 60000');
    await runs.unwanted.thread.waitFor(runs.unwanted.taskId, 'running');
    await streamed(() => expect(callsOf('look') + callsOf('put') + callsOf('send')).toBe(3));
    const doomed = await replaceWorker();
    await doomed?.kill('SIGKILL');
    killedAt = Date.now();
    await runs.unwanted.thread.cancel(runs.unwanted.taskId);
  }, START_MS);

  it('another makes the open step again, and readers see one whole answer', async () => {
    const { thread, taskId } = runs.answering;
    const { message, toolParts, ...collected } = await runs.answering.end();
    expect(collected.chunks.filter(({ type }) => type === 'reset-step')).toHaveLength(1);
    expect(textOf(collected.chunks)).toBe('Half an A whole one.');
    expect(message.parts.filter((part) => 'text' in part)).toMatchObject([{ text: 'A whole one.', state: 'done' }]);
    expect(toolParts).toMatchObject([{ toolName: 'put', state: 'output-available' }]);
    expect(fake.requests).toHaveLength(3);
    expect(await runs.answering.run()).toMatchObject({ status: 'completed', attempt: 2, steps: 2 });

    // A reader that comes now gets the same.
    expect(await thread.collect(taskId)).toEqual(collected);
  });

  it('it is noticed within the lock time', async () => {
    await runs.look.end();
    const { finished_at } = await runs.look.run();
    // Without the lock, it would be noticed by the time limit of the run.
    expect(Date.parse(finished_at ?? '') - killedAt).toBeLessThan(10 * RUN_LOCK_MS);
  });

  it('the run behind it has its turn, and no message is lost or there twice', async () => {
    const { thread } = runs.answering;
    await thread.expectWhole(behind, await thread.collect(behind));
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(await thread.status()).toBe('completed');
  });

  it.each(['look', 'put'] as const)('a call of %s, which is harmless to repeat, is repeated', async (tool) => {
    const { chunks, toolParts } = await runs[tool].end();
    expect(toolParts).toMatchObject([
      { toolName: tool, state: 'output-available', output: { content: [{ text: 'done' }] } },
    ]);
    expect(callsOf(tool)).toBe(2);
    expect(textOf(chunks)).toContain(`${tool} returned: done`);
    expect(await runs[tool].run()).toMatchObject({ status: 'completed', attempt: 2, steps: 2 });
  });

  it('the model gets an unknown outcome for any other call', async () => {
    const { chunks, toolParts } = await runs.send.end();
    const errorText = expect.stringContaining('outcome is unknown');
    expect(toolParts).toMatchObject([{ toolName: 'send', state: 'output-error', errorText }]);
    expect(callsOf('send')).toBe(1);
    expect(textOf(chunks)).toContain('send failed: ');
    expect(await runs.send.run()).toMatchObject({ status: 'completed', attempt: 2 });
  });

  it('a cancellation still reaches the run', async () => {
    const { message } = await runs.unwanted.end();
    expect(message.metadata).toMatchObject({ aborted: true });
    expect(await runs.unwanted.run()).toMatchObject({ status: 'cancelled', attempt: 2 });
  });
});

describe('a worker that is stopped', () => {
  /** So long that the other worker gets only what is handed over to it. */
  const env = { ...ENV, RUN_LOCK_MS: '60000' };

  beforeAll(async () => {
    const hasty = await replaceWorker(env);
    await hasty?.kill('SIGTERM');
  }, START_MS);

  it(
    'lets short runs end, and hands long ones over',
    async () => {
      const before = fake.requests.length;
      fake.script({ kind: 'hang-after', deltas: ['Half '] }, { kind: 'text', deltas: ['Whole.'] });
      const long = await WatchedRun.start('Go', 'thinking');
      const short = await WatchedRun.start('/wait 1500\nAt ease');
      await short.thread.waitFor(short.taskId, 'running', 'completed');
      await streamed(() => expect(fake.requests).toHaveLength(before + 1));
      const stopped = await replaceWorker(env);
      expect(await stopped?.kill('SIGTERM')).toBe(0);

      await short.end();
      expect(await short.run()).toMatchObject({ status: 'completed', attempt: 1 });
      const { message } = await long.end();
      expect(message.parts.filter((part) => 'text' in part)).toMatchObject([{ text: 'Whole.' }]);
      expect(await long.run()).toMatchObject({ status: 'completed', attempt: 2 });
    },
    START_MS,
  );
});
