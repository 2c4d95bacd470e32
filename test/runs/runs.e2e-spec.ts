import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UIMessageChunk } from 'ai';
import { connect, createAgent, succeed, textOf, ThreadClient } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import type { RunItem } from '../../src/runs/records/run.dto.js';
import type { MessageItem } from '../../src/threads/thread.dto.js';

let app: TestApp;
let upstream: EverythingServer;
let agentId: string;

beforeAll(async () => {
  [app, upstream] = await Promise.all([startTestApp(), startEverything()]);
  agentId = await createAgent(app, [await connect(app, upstream.url, 'Everything')]);
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

describe('a run', () => {
  it('takes the thread from completed over in_progress to completed, and leaves its transcript', async () => {
    const thread = await ThreadClient.create(app, agentId);
    expect(await thread.status()).toBe('completed');
    const stream = await thread.stream();
    const taskId = await thread.postMessage('Hello there\n/wait 200', { tier: 'fast', temperature: 0.5 });
    expect(await thread.status()).toBe('in_progress');

    const collected = await stream.collectUntilDone();
    const answer = await thread.expectWhole(taskId, collected);

    expect(await thread.status()).toBe('completed');
    expect(textOf(collected.chunks)).toBe('You said: Hello there');
    expect(collected.chunks.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(2);
    expect(collected.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    expect(answer.metadata).toEqual({
      taskId,
      model: 'builtin/echo',
      finishReason: 'stop',
      usage: { inputTokens: expect.any(Number), outputTokens: 4, totalTokens: expect.any(Number) },
    });
    expect(await thread.messages()).toMatchObject([
      { thread_id: thread.id, role: 'user', parts: [{ type: 'text', text: 'Hello there\n/wait 200' }] },
      { id: answer.id, role: 'assistant' },
    ]);
    expect(await thread.run(taskId)).toMatchObject({
      id: taskId,
      thread_id: thread.id,
      agent_id: agentId,
      status: 'completed',
      tier: 'fast',
      temperature: 0.5,
      model: 'builtin/echo',
      message_id: answer.id,
      error: null,
      usage: answer.metadata['usage'],
      finish_reason: 'stop',
      attempt: 1,
      steps: 1,
    });
  });

  it('calls the tools of a real upstream, one after the other', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask(
      '/call echo {"message":"one"}\n/call get-sum {"a":20,"b":22}\nAnd that is all.',
    );
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toMatchObject([
      {
        toolName: 'echo',
        state: 'output-available',
        input: { message: 'one' },
        output: { content: [{ type: 'text', text: 'Echo: one' }] },
      },
      {
        toolName: 'get-sum',
        state: 'output-available',
        output: { content: [{ type: 'text', text: 'The sum of 20 and 22 is 42.' }] },
      },
    ]);
    expect(textOf(collected.chunks)).toContain('echo returned: Echo: one');
    expect(textOf(collected.chunks)).toContain('get-sum returned: The sum of 20 and 22 is 42.');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 3 });
  });

  it('continues after a failed tool, and after an unknown one', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('/call get-sum {"a":"x"}\n/call no-such-tool {}');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toMatchObject([
      { toolName: 'get-sum', state: 'output-error', errorText: expect.stringContaining("required property 'b'") },
    ]);
    expect(textOf(collected.chunks)).toMatch(/get-sum failed: .*There is no tool "no-such-tool" to call\./s);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  });

  it("stops after its agent's maximum number of steps", async () => {
    const brief = await createAgent(app, [await connect(app, upstream.url)], { max_steps: 2 });
    const thread = await ThreadClient.create(app, brief);
    const call = '/call echo {"message":"again"}';
    const { taskId, ...collected } = await thread.ask([call, call, call].join('\n'));
    const { parts, metadata } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toHaveLength(2);
    expect(metadata['finishReason']).toBe('tool-calls');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2, finish_reason: 'tool-calls' });
    const next = await thread.ask('Still there?');
    await thread.expectWhole(next.taskId, next);
    expect(textOf(next.chunks)).toBe('You said: Still there?');
  });

  it('stores system messages before the user message', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('Hi', { system: ['Be brief.', 'Be kind.'], messageId: 'mine_1' });
    await thread.expectWhole(taskId, collected);
    expect((await thread.messages()).map(({ role, parts }) => [role, parts[0]])).toMatchObject([
      ['system', { text: 'Be brief.' }],
      ['system', { text: 'Be kind.' }],
      ['user', { text: 'Hi' }],
      ['assistant', {}],
    ]);
    expect((await thread.messages())[2]?.id).toBe('mine_1');
  });

  it('keeps text that is hard to keep', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const text = 'Zoë 👩‍👩‍👧 日本語 \u2028 "quoted" \\u0000 \t\\';
    const { taskId, ...collected } = await thread.ask(text);
    await thread.expectWhole(taskId, collected);
    expect(await thread.messages()).toMatchObject([{ parts: [{ text }] }, {}]);
    expect(textOf(collected.chunks)).toBe(`You said: ${text}`);
  });

  it('shows its answer so far in the transcript, also while the model is silent', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const taskId = await thread.postMessage('So far\n/wait 20000');
    const deadline = Date.now() + 5000;
    let parts: object[] = [];
    while (parts.length < 2 && Date.now() < deadline) {
      await sleep(100);
      parts = (await thread.messages())[1]?.parts ?? [];
    }
    expect(parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'You said: So far' }]);
    expect(await thread.status()).toBe('in_progress');
    await thread.cancel(taskId);
    await thread.waitFor(taskId, 'cancelled');
  });

  it('of an agent that was deleted fails with a clear error', async () => {
    const doomed = await createAgent(app);
    const thread = await ThreadClient.create(app, doomed);
    const first = await thread.postMessage('/wait 700');
    const second = await thread.postMessage('Anybody?');
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_DELETE', { id: doomed });
    const collected = await thread.collect(second);
    await thread.expectWhole(second, collected);
    expect(collected.chunks.at(-1)).toMatchObject({ type: 'error', errorText: expect.stringContaining('agent') });
    expect(await thread.run(first)).toMatchObject({ status: 'completed' });
    expect(await thread.run(second)).toMatchObject({ status: 'failed', error: { code: 'agent_not_found' } });
    expect(await thread.status()).toBe('failed');
  });
});

describe('the runs of a thread', () => {
  it('run one at a time in the order of their 202s, while other threads run concurrently', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const other = await ThreadClient.create(app, agentId);
    const taskIds: string[] = [];
    for (let n = 1; n <= 5; n++) taskIds.push(await thread.postMessage(`/wait 120\n${n}`));
    const beside = await other.postMessage('quick');
    const quick = await other.waitFor(beside, 'completed');

    const streams = await Promise.all(taskIds.map((taskId) => thread.collect(taskId)));
    for (const [i, taskId] of taskIds.entries()) await thread.expectWhole(taskId, at(streams, i));
    const runs = await Promise.all(taskIds.map((taskId) => thread.run(taskId)));
    for (const [i, run] of runs.entries()) {
      expect(run.status).toBe('completed');
      if (i > 0) expect(timeOf(run.started_at)).toBeGreaterThanOrEqual(timeOf(at(runs, i - 1).finished_at));
    }
    expect(timeOf(quick.finished_at)).toBeLessThan(timeOf(at(runs, 4).finished_at));
    expect((await thread.messages()).map(({ role, metadata }) => [role, metadata['taskId']])).toEqual(
      taskIds.flatMap((taskId) => [
        ['user', taskId],
        ['assistant', taskId],
      ]),
    );
    expect(await thread.status()).toBe('completed');
  });

  it('are listed with filters', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId: good } = await thread.ask('fine');
    const { taskId: bad } = await thread.ask('/fail on purpose');
    const onThread = { field: ['thread_id'], operator: 'eq', value: thread.id };
    const failed = { field: ['status'], operator: 'eq', value: 'failed' };
    const all = await succeed<{ items: RunItem[]; totalCount: number }>(app, 'RUN_LIST', { where: onThread });
    expect(all).toMatchObject({ totalCount: 2, items: [{ id: bad }, { id: good }] });
    const where = { operator: 'and', conditions: [onThread, failed] };
    expect(await succeed(app, 'RUN_LIST', { where })).toMatchObject({ totalCount: 1, items: [{ id: bad }] });
    const unknown = await app.tool('RUN_GET', { id: thread.agentId });
    expect(unknown.body).toMatchObject({ status: 404, code: 'run_not_found' });
  });

  it('queue up to a hundred; one more is refused', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const running = await thread.postMessage('/wait 20000');
    await thread.waitFor(running, 'running');
    for (let n = 0; n < 100; n++) await thread.postMessage('waiting');
    const refused = await thread.post(thread.request('one too many'));
    expect(refused.body).toMatchObject({ status: 429, code: 'too_many_runs' });
    expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(101);
    const cancelled = await thread.cancel();
    expect(cancelled.status).toBe(202);
    expect((cancelled.body as { taskIds: string[] }).taskIds).toHaveLength(101);
    await thread.waitFor(running, 'cancelled');
    expect(await thread.status()).toBe('failed');
  });
});

describe('a repeated request', () => {
  it('with its Idempotency-Key is answered alike and runs nothing again', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const idempotencyKey = 'order 66/#1';
    const posted = await Promise.all(
      Array.from({ length: 10 }, () => thread.postMessage('Once only', { idempotencyKey })),
    );
    expect(new Set(posted).size).toBe(1);
    const taskId = at(posted, 0);
    await thread.waitFor(taskId, 'completed');
    expect(await thread.postMessage('Once only', { idempotencyKey })).toBe(taskId);
    expect(await thread.messages()).toHaveLength(2);
    expect(await thread.status()).toBe('completed');

    const conflict = await thread.post(thread.request('Twice'), { headers: { 'idempotency-key': idempotencyKey } });
    expect(conflict.body).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const elsewhere = await ThreadClient.create(app, agentId);
    expect(await elsewhere.postMessage('Twice', { idempotencyKey })).not.toBe(taskId);
  });

  it('without one runs again, but not with a message id that the thread holds', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('Hi', { messageId: 'm-1' });
    const again = await thread.post(thread.request('Hi', { messageId: 'm-1' }));
    expect(again.body).toMatchObject({ status: 409, code: 'conflict', errors: [{ path: 'messages' }] });
    expect(await thread.status()).toBe('completed');
    expect((await thread.ask('Hi')).taskId).not.toBe(taskId);
    expect(await thread.messages()).toHaveLength(4);
  });
});

describe('cancelling', () => {
  it('a running run keeps the answer so far', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage('This much\n/wait 20000\n/words 5');
    await thread.waitFor(taskId, 'running');
    const seen = stream.collectUntilDone();
    await untilText(thread, taskId);
    const cancelled = await thread.cancel(taskId);
    expect({ status: cancelled.status, body: cancelled.body as unknown }).toEqual({
      status: 202,
      body: { taskIds: [taskId] },
    });

    const collected = await seen;
    const answer = await thread.expectWhole(taskId, collected);
    expect(textOf(collected.chunks)).toBe('You said: This much');
    expect(collected.chunks.at(-1)).toMatchObject({ type: 'abort' });
    expect(answer.metadata).toMatchObject({ aborted: true, model: 'builtin/echo' });
    expect(await thread.run(taskId)).toMatchObject({ status: 'cancelled', error: null });
    expect(await thread.status()).toBe('failed');

    const next = await thread.ask('And now?');
    await thread.expectWhole(next.taskId, next);
    expect(await thread.status()).toBe('completed');
  });

  it('a waiting run lets the others run', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const first = await thread.postMessage('/wait 500');
    const second = await thread.postMessage('never');
    const third = await thread.postMessage('still');
    const stream = await thread.stream({ query: { taskId: second } });
    await succeed(app, 'RUN_CANCEL', { id: second });
    expect((await stream.collectUntilDone()).chunks.map(({ type }) => type)).toEqual(['start', 'abort']);
    expect(await thread.waitFor(third, 'completed')).toMatchObject({ attempt: 1 });
    expect(await thread.run(first)).toMatchObject({ status: 'completed' });
    expect(await thread.run(second)).toMatchObject({ status: 'cancelled', steps: 0 });
    expect(await thread.status()).toBe('completed');
  });

  it('by RUN_CANCEL stops a tool call under way, and leaves a finished run as it is', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage('/call trigger-long-running-operation {"duration":20,"steps":20}');
    const chunks: UIMessageChunk[] = [];
    const ids: string[] = [];
    for await (const { id, data } of stream.frames()) {
      if (data === '[DONE]') break;
      ids.push(id ?? '');
      chunks.push(JSON.parse(data) as UIMessageChunk);
      if (chunks.at(-1)?.type === 'tool-input-available') await succeed(app, 'RUN_CANCEL', { id: taskId });
    }
    const { parts, metadata } = await thread.expectWhole(taskId, { ids, chunks });
    expect(toolPartsOf(parts)).toMatchObject([
      { state: 'output-error', errorText: expect.stringContaining('cancelled') },
    ]);
    expect(metadata).toMatchObject({ aborted: true });
    expect(await succeed(app, 'RUN_CANCEL', { id: taskId })).toMatchObject({ item: { status: 'cancelled' } });

    const done = await thread.ask('Done');
    expect(await succeed(app, 'RUN_CANCEL', { id: done.taskId })).toMatchObject({ item: { status: 'completed' } });
    expect(await thread.status()).toBe('completed');
    expect((await thread.cancel()).body).toEqual({ taskIds: [] });
  });

  it('unknown ids get 404', async () => {
    const thread = await ThreadClient.create(app, agentId);
    expect((await thread.cancel(thread.agentId)).body).toMatchObject({ status: 404, code: 'run_not_found' });
    const nowhere = new ThreadClient(app, agentId, 'nowhere');
    expect((await nowhere.cancel()).body).toMatchObject({ status: 404, code: 'thread_not_found' });
  });
});

/** Waits until the built-in model has said its first words. */
async function untilText(thread: ThreadClient, taskId: string): Promise<void> {
  const stream = await thread.stream({ query: { taskId } });
  for await (const { data } of stream.frames()) if (data.includes('much')) break;
  stream.close();
}

function toolPartsOf(parts: MessageItem['parts']): object[] {
  return parts.filter((part) => 'type' in part && part.type === 'dynamic-tool');
}

function timeOf(time: string | null): number {
  return Date.parse(time ?? '');
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`There is no item ${index}.`);
  return item;
}
