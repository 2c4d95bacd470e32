import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import type { RunItem, RunPage } from '../../../src/runtime/runs/records/run.dto.js';
import { connect, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { expectProblem } from '../../support/problem.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { toolPartsOf } from '../runs/runs.support.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';
import { ask, collectPosted, openPosted, readRun, resultOf } from '../turns/turns.support.js';
import {
  answer,
  createAskingAgent,
  SCRIPTED,
  startUpstream,
  startWaiting,
  useApprovalsApp,
  useScriptedModel,
  validated,
} from './approvals.support.js';

const own = useApprovalsApp(newTenant);
const YES = { approved: true };

describe('while a run waits', () => {
  it('it is shown with its pending approvals', async () => {
    const { thread, taskId, approvals } = await startWaiting(own.app, own.agentId, '/call send {"to":"a"}');
    const { body } = await readRun(own.app, taskId, { wait: 60 }).expect(200);
    expect(body).toMatchObject({ taskId, status: 'waiting', error: null, pending_approvals: approvals });
    await validated((body as { message: object }).message);
    const where = { field: ['status'], operator: 'eq', value: 'waiting' };
    const { items } = await succeed<RunPage>(own.app, 'RUN_LIST', { where });
    expect(items.find(({ id }) => id === taskId)?.pending_approvals).toEqual(approvals);
    expect(items.every(({ status }) => status === 'waiting')).toBe(true);
    const { item } = await succeed<{ item: { last_run: object } }>(own.app, 'COLLECTION_THREADS_GET', {
      id: thread.id,
    });
    expect(item.last_run).toMatchObject({ id: taskId, status: 'waiting' });
    await thread.cancel().expect(202);
  });

  it('messages of its thread queue behind it, and the thread is busy', async () => {
    const { thread, taskId, approvals, stream } = await startWaiting(own.app, own.agentId, '/call send {}');
    const behind = await thread.postMessage('hello');
    const regenerate = supertest(own.app.url)
      .post(`/api/${own.app.org}/agent-runtime/threads/${thread.id}/regenerate`)
      .set('authorization', `Bearer ${own.app.apiKey}`);
    expectProblem(await regenerate, 409, 'thread_busy');
    const { id: until_message_id } = await thread.answer(taskId);
    expectProblem(await own.app.tool('THREAD_COPY', { id: thread.id, until_message_id }), 409, 'thread_busy');
    expectProblem(await own.app.tool('COLLECTION_THREADS_DELETE', { id: thread.id }), 409, 'conflict');
    const copied = await succeed<{ item: { id: string } }>(own.app, 'THREAD_COPY', { id: thread.id });
    const copy = new ThreadClient(own.app, own.agentId, copied.item.id);
    expect((await copy.messages()).map(({ role }) => role)).toEqual(['user', 'user']);
    expect(await thread.run(behind)).toMatchObject({ status: 'queued', attempt: 0 });
    expect((await thread.stream({ query: { idle: '204' } })).status).toBe(200);
    await answer(own.app, thread.id, approvals[0]?.id ?? '', YES).expect(202);
    await stream.collectUntilDone();
    const { finished_at: finishedAt } = await thread.run(taskId);
    const { started_at: startedAt, status } = await thread.waitFor(behind, 'completed');
    expect(status).toBe('completed');
    expect(Date.parse(startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(finishedAt ?? ''));
    expect(await thread.status()).toBe('completed');
  });

  it('a message behind it can be cancelled, and the thread goes on waiting', async () => {
    const { thread, taskId, approvals, stream } = await startWaiting(own.app, own.agentId, '/call send {}');
    const behind = await thread.postMessage('hello');
    await thread.cancel(behind).expect(202);
    expect(await thread.status()).toBe('in_progress');
    expect(await thread.run(taskId)).toMatchObject({ status: 'waiting' });
    await answer(own.app, thread.id, approvals[0]?.id ?? '', YES).expect(202);
    await thread.expectWhole(taskId, await stream.collectUntilDone());
  });

  it('a request that waits is answered, with 200', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const posted = await ask(thread, '/call send {"n":1}', 60).expect(200);
    const { taskId, status, pending_approvals: pending } = resultOf(posted);
    expect(status).toBe('waiting');
    expect(pending).toMatchObject([{ tool_name: 'send', input: { n: 1 } }]);
    await answer(own.app, thread.id, pending[0]?.id ?? '', YES).expect(202);
    const done = resultOf(await readRun(own.app, taskId, { wait: 60 }).expect(200));
    expect(done).toMatchObject({ status: 'completed', pending_approvals: [] });
  });

  it('the stream of its post stays open, up to one [DONE]', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const response = await openPosted(own.app, thread, '/call send {}');
    const taskId = response.headers.get('x-task-id') ?? '';
    const { pending_approvals: pending } = await thread.waitFor(taskId, 'waiting');
    await answer(own.app, thread.id, pending[0]?.id ?? '', YES).expect(202);
    const posted = await collectPosted(response);
    expect(posted.ending).toBe('data: [DONE]');
    await thread.expectWhole(taskId, posted);
  });

  it('a reader that comes later gets the request, and what follows', async () => {
    const { thread, taskId, approvals } = await startWaiting(own.app, own.agentId, 'First\n/call send {}');
    const late = await thread.stream();
    await answer(own.app, thread.id, approvals[0]?.id ?? '', YES).expect(202);
    await thread.expectWhole(taskId, await late.collectUntilDone());
  });

  it('a reader gets the request also when the live buffer has lost it', async () => {
    const text = '/call look {}\n/call send {}\nand on';
    const agentId = await own.createAgent(['send']);
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, agentId, text);
    await own.app.query('DELETE FROM run_event_batches WHERE run_id = $1', [taskId]);
    await own.app.query('DELETE FROM run_event_streams WHERE run_id = $1', [taskId]);
    const late = await thread.stream();
    const frames = late.frames()[Symbol.asyncIterator]();
    const chunks: { type: string }[] = [];
    while (chunks.at(-1)?.type !== 'tool-approval-request') {
      chunks.push(JSON.parse((await frames.next()).value?.data ?? '') as { type: string });
    }
    expect(chunks[0]).toMatchObject({ type: 'start', messageMetadata: { taskId } });
    await answer(own.app, thread.id, approvals[0]?.id ?? '', YES).expect(202);
    for (;;) {
      const { value, done } = await frames.next();
      if (done === true || value.data === '[DONE]') break;
      chunks.push(JSON.parse(value.data) as { type: string });
    }
    late.close();
    await thread.expectAnswer(taskId, { ids: [], chunks: chunks as never });
    await thread.expectAnswer(taskId, await stream.collectUntilDone());
    expect(own.upstream.calls.map(({ tool }) => tool)).toEqual(['look', 'send']);
  });
});

describe('a waiting run', () => {
  let app: Tenant;
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  let connectionId: string;

  beforeAll(async () => {
    [app, upstream] = await Promise.all([newTenant({ RUN_TIMEOUT_MS: '4000' }), startUpstream()]);
    connectionId = await connect(app, upstream.url);
  });
  afterAll(async () => {
    await app?.close();
    await upstream?.close();
  });

  it('whose other calls exceed the time limit fails, and its approvals are denied', async () => {
    const { look } = upstream.tools;
    upstream.tools['look'] = { ...look, handler: () => new Promise(() => undefined) };
    const model = await startFakeOpenAI();
    await useScriptedModel(app, model);
    const calls = ['look', 'send'].map((name) => ({ name, arguments: {} }));
    model.script({ kind: 'tool-calls', calls });
    const thread = await ThreadClient.create(app, await createAskingAgent(app, connectionId, ['send']));
    const stream = await thread.stream();
    const taskId = await thread.postMessage('Go', SCRIPTED);
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(await thread.run(taskId)).toMatchObject({
      status: 'failed',
      error: { code: 'run_timeout' },
      pending_approvals: [],
    });
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-error' },
      { state: 'output-denied', approval: { approved: false, reason: 'the run ended' } },
    ]);
    await validated(message);
    await model.close();
  });

  it('holds no slot, and its waiting does not count against its time limit', async () => {
    const { app: tenant, agentId } = own;
    await tenant.tool('ORGANIZATION_UPDATE', { limits: { concurrent_runs: 1 } }).expect(200);
    const { taskId, thread, approvals, stream } = await startWaiting(tenant, agentId, '/call send {}\nand on');
    const other = await ThreadClient.create(tenant, agentId);
    await other.ask('in the only slot');
    // As if it had waited for longer than a run can take.
    await tenant.query(
      `UPDATE runs SET started_at = started_at - interval '1 hour', waiting_since = waiting_since - interval '1 hour'
        WHERE id = $1`,
      [taskId],
    );
    await answer(tenant, thread.id, approvals[0]?.id ?? '', YES).expect(202);
    const collected = await stream.collectUntilDone();
    await thread.expectWhole(taskId, collected);
    expect(textOf(collected.chunks)).toContain('and on');
    const run: RunItem = await thread.run(taskId);
    expect(run).toMatchObject({ status: 'completed', error: null, attempt: 2 });
  });
});
