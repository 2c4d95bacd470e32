import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { generateEncryptionKey } from '../src/config/encryption-keys.js';
import { connect, createAgent, type OpenedStream, succeed, textOf, ThreadClient } from './support/agent-runs.js';
import { startTestApp, type TestApp } from './support/app.js';
import { createTestDatabase, type TestDatabase } from './support/database.js';
import { type FakeOpenAI, startFakeOpenAI } from './support/fake-openai.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from './support/scripted-upstream.js';
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.js';

const RUN_LOCK_MS = 2000;
const ENV = {
  RUN_LOCK_MS: String(RUN_LOCK_MS),
  ENCRYPTION_KEYS: generateEncryptionKey('recovery'),
  UPSTREAM_ALLOW_PRIVATE: 'true',
};

let database: TestDatabase;
let api: TestApp;
let fake: FakeOpenAI;
let upstream: ScriptedServer;
let agentId: string;
/** The workers of the running test, the oldest first. */
let workers: WorkerProcess[] = [];
/** How many of the next tool calls get no answer. */
let callsToSwallow = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  [api, fake, upstream] = await Promise.all([
    startTestApp({ database, env: { ...ENV, ROLE: 'api' } }),
    startFakeOpenAI(),
    startScripted(legacyServer(answerToolRequest).script),
  ]);
  agentId = await createAgent(api, [await connect(api, upstream.url)]);
  const data = { title: 'Fake', kind: 'openai-compatible', base_url: fake.baseUrl };
  const { item } = await succeed<{ item: { id: string } }>(api, 'AI_PROVIDER_CREATE', { data });
  await succeed(api, 'MODEL_TIERS_SET', { data: { thinking: { provider_id: item.id, model: 'fake-model' } } });
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
  workers = [];
  callsToSwallow = 0;
  upstream.requests.length = 0;
});

afterAll(async () => {
  await api?.close();
  await fake?.close();
  await upstream?.close();
  await database?.drop();
});

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({ ...ENV, DATABASE_URL: database.url });
  workers.push(worker);
  return worker;
}

const TOOLS = {
  look: { readOnlyHint: true },
  put: { readOnlyHint: false, idempotentHint: true },
  send: { readOnlyHint: false, idempotentHint: false },
};

function answerToolRequest({ message }: { message: object & { method?: string } }, response: ServerResponse): void {
  if (message.method === 'tools/call') {
    if (callsToSwallow-- > 0) return;
    sendResult(response, message, { content: [{ type: 'text', text: 'done' }] });
    return;
  }
  const inputSchema = { type: 'object' };
  const tools = Object.entries(TOOLS).map(([name, annotations]) => ({ name, annotations, inputSchema }));
  sendResult(response, message, { tools });
}

function toolCalls(): number {
  return upstream.calls('tools/call').length;
}

/** Posts to a lone worker, waits for the moment, then starts another worker and takes the first one away. */
async function interrupt(
  thread: ThreadClient,
  text: string,
  { tier, moment, signal = 'SIGKILL' }: { tier?: string; moment: () => boolean; signal?: 'SIGKILL' | 'SIGTERM' },
): Promise<{ taskId: string; stream: OpenedStream; exitCode: number | null }> {
  const first = await startWorker();
  const stream = await thread.stream();
  const taskId = await thread.postMessage(text, tier === undefined ? {} : { tier });
  await until(moment);
  await startWorker();
  const exitCode = await first.end(signal);
  return { taskId, stream, exitCode };
}

async function until(moment: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!moment()) {
    if (Date.now() > deadline) throw new Error('The moment did not come.');
    await sleep(20);
  }
  // What has just happened shall have been streamed, too.
  await sleep(200);
}

describe('when a worker is killed', () => {
  it('while the model answers, another makes the step again, and readers see one whole answer', async () => {
    const thread = await ThreadClient.create(api, agentId);
    fake.script(
      { kind: 'tool-calls', calls: [{ name: 'send', arguments: { n: 1 } }] },
      { kind: 'hang-after', deltas: ['Half ', 'an '] },
      { kind: 'text', deltas: ['A ', 'whole ', 'answer.'] },
    );
    const moment = (): boolean => fake.requests.length === 2;
    const { taskId, stream } = await interrupt(thread, 'Go', { tier: 'thinking', moment });
    const waiting = await thread.postMessage('/words 3');
    const killedAt = Date.now();

    const collected = await stream.collectUntilDone();
    expect(Date.now() - killedAt).toBeLessThan(RUN_LOCK_MS + 1500);
    expect(collected.chunks.map(({ type }) => type)).toContain('reset-step');
    expect(textOf(collected.chunks)).toBe('Half an A whole answer.');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'text' in part)).toMatchObject([{ text: 'A whole answer.', state: 'done' }]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2, steps: 2 });
    // The finished step is not made again.
    expect(toolCalls()).toBe(1);

    // A reader that comes now gets the same, and the run behind it has its turn.
    expect(await thread.collect(taskId)).toEqual(collected);
    await thread.expectWhole(waiting, await thread.collect(waiting));
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(await thread.status()).toBe('completed');
  });

  it.each(['look', 'put'])('during a call of %s, which is harmless to repeat, the call is repeated', async (tool) => {
    callsToSwallow = 1;
    const thread = await ThreadClient.create(api, agentId);
    const { taskId, stream } = await interrupt(thread, `/call ${tool} {}`, { moment: () => toolCalls() === 1 });
    const collected = await stream.collectUntilDone();
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: tool, state: 'output-available', output: { content: [{ text: 'done' }] } },
    ]);
    expect(toolCalls()).toBe(2);
    expect(textOf(collected.chunks)).toBe(`${tool} returned: done`);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2, steps: 2 });
  });

  it('during any other call, the model is told that its outcome is unknown', async () => {
    callsToSwallow = 1;
    const thread = await ThreadClient.create(api, agentId);
    const moment = (): boolean => toolCalls() === 1;
    const { taskId, stream } = await interrupt(thread, '/call send {}\n/call look {}', { moment });
    const collected = await stream.collectUntilDone();
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'send', state: 'output-error', errorText: expect.stringContaining('outcome is unknown') },
      { toolName: 'look', state: 'output-available' },
    ]);
    expect(toolCalls()).toBe(2);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(await thread.messages()).toHaveLength(2);
  });

  it('a cancellation still reaches the run', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const first = await startWorker();
    const stream = await thread.stream();
    const taskId = await thread.postMessage('So far\n/wait 60000');
    await thread.waitFor(taskId, 'running');
    await first.end('SIGKILL');
    expect((await thread.cancel(taskId)).status).toBe(202);
    await startWorker();
    const collected = await stream.collectUntilDone();
    expect(await thread.expectWhole(taskId, collected)).toMatchObject({ metadata: { aborted: true } });
    expect(await thread.run(taskId)).toMatchObject({ status: 'cancelled', attempt: 2 });
  });
});

describe('when there was no worker', () => {
  it('runs wait for one, and keep their order', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const taskIds = [await thread.postMessage('one'), await thread.postMessage('two')];
    expect(await thread.run(taskIds[0] ?? '')).toMatchObject({ status: 'queued', attempt: 0 });
    await startWorker();
    for (const taskId of taskIds) await thread.expectWhole(taskId, await thread.collect(taskId));
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });
});

describe('a worker that is told to stop', () => {
  it('hands a long run over, which ends elsewhere', async () => {
    const thread = await ThreadClient.create(api, agentId);
    fake.requests.length = 0;
    fake.script({ kind: 'hang-after', deltas: ['Half '] }, { kind: 'text', deltas: ['Whole.'] });
    const { taskId, stream, exitCode } = await interrupt(thread, 'Go', {
      tier: 'thinking',
      moment: () => fake.requests.length === 1,
      signal: 'SIGTERM',
    });
    expect(exitCode).toBe(0);
    const collected = await stream.collectUntilDone();
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'text' in part)).toMatchObject([{ text: 'Whole.' }]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  it('lets a short run end', async () => {
    const thread = await ThreadClient.create(api, agentId);
    const worker = await startWorker();
    const taskId = await thread.postMessage('/wait 1500\nAt ease');
    await thread.waitFor(taskId, 'running');
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 1 });
    await thread.expectWhole(taskId, await thread.collect(taskId));
  });
});
