import { describe, expect, it } from '@jest/globals';
import { LONG, succeed, ThreadClient } from '../../support/agent-runs.js';
import { keyWith } from '../../support/proxy-connections.js';
import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import { HELD, useRunsApp } from './runs.support.js';

const runsApp = useRunsApp();

describe('the runs of a thread', () => {
  it('run one at a time in the order of their 202s, while other threads run concurrently', async () => {
    const holding = await runsApp.createHoldingAgent();
    const thread = await ThreadClient.create(runsApp.app, holding.agentId);
    const other = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const first = await thread.postMessage(`${HELD}\n1`);
    const taskIds = [first];
    for (let n = 2; n <= 5; n++) taskIds.push(await thread.postMessage(`/wait 120\n${n}`));
    const beside = await other.postMessage('quick');
    await other.waitFor(beside, 'completed');
    await thread.waitFor(first, 'running');
    holding.release();

    const streams = await Promise.all(taskIds.map((taskId) => thread.collect(taskId)));
    for (const [i, taskId] of taskIds.entries()) await thread.expectWhole(taskId, at(streams, i));
    const runs = await Promise.all(taskIds.map((taskId) => thread.run(taskId)));
    for (const [i, run] of runs.entries()) {
      expect(run.status).toBe('completed');
      if (i > 0) expect(timeOf(run.started_at)).toBeGreaterThanOrEqual(timeOf(at(runs, i - 1).finished_at));
    }
    expect((await thread.messages()).map(({ role, metadata }) => [role, metadata['taskId']])).toEqual(
      taskIds.flatMap((taskId) => [
        ['user', taskId],
        ['assistant', taskId],
      ]),
    );
    expect(await thread.status()).toBe('completed');
  });

  it('are listed with filters', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId: good } = await thread.ask('fine');
    const { taskId: bad } = await thread.ask('/fail on purpose');
    const onThread = { field: ['thread_id'], operator: 'eq', value: thread.id };
    const failed = { field: ['status'], operator: 'eq', value: 'failed' };
    const all = await succeed<{ items: RunItem[]; totalCount: number }>(runsApp.app, 'RUN_LIST', { where: onThread });
    expect(all).toMatchObject({ totalCount: 2, items: [{ id: bad }, { id: good }] });
    const where = { operator: 'and', conditions: [onThread, failed] };
    expect(await succeed(runsApp.app, 'RUN_LIST', { where })).toMatchObject({ totalCount: 1, items: [{ id: bad }] });
    const byCode = {
      operator: 'and',
      conditions: [onThread, { field: ['error_code'], operator: 'eq', value: 'model_failed' }],
    };
    expect(await succeed(runsApp.app, 'RUN_LIST', { where: byCode })).toMatchObject({ items: [{ id: bad }] });
    const unknown = await runsApp.app.tool('RUN_GET', { id: thread.agentId });
    expect(unknown.body).toMatchObject({ status: 404, code: 'run_not_found' });
  });

  it('show the beginning of their question to callers who may read messages', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId: short } = await thread.ask('What is late?\nLine 7?');
    const { taskId: long } = await thread.ask(`${'word '.repeat(200)}end`);
    const where = { field: ['thread_id'], operator: 'eq', value: thread.id };
    const list = (key?: string) => runsApp.app.tool('RUN_LIST', { where }, key).expect(200);
    const shown = [
      { id: long, question: 'word '.repeat(100) },
      { id: short, question: 'What is late?\nLine 7?' },
    ];
    expect((await list()).body).toMatchObject({ items: shown });
    expect(await succeed(runsApp.app, 'RUN_GET', { id: short })).toMatchObject({ item: shown[1] });
    const blind = await keyWith(runsApp.app, { self: ['RUN_LIST', 'RUN_GET'] });
    expect((await list(blind)).body).toMatchObject({ items: [{ question: null }, { question: null }] });
    const reader = await keyWith(runsApp.app, { self: ['RUN_LIST', 'COLLECTION_THREAD_MESSAGES_LIST'] });
    expect((await list(reader)).body).toMatchObject({ items: shown });
  });

  it('queue up to a hundred; one more is refused', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const running = await thread.postMessage(LONG);
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
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
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
    const elsewhere = await ThreadClient.create(runsApp.app, runsApp.agentId);
    expect(await elsewhere.postMessage('Twice', { idempotencyKey })).not.toBe(taskId);
  });

  it('without one runs again, but not with a message id that the thread holds', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId } = await thread.ask('Hi', { messageId: 'm-1' });
    const again = await thread.post(thread.request('Hi', { messageId: 'm-1' }));
    expect(again.body).toMatchObject({ status: 409, code: 'conflict', errors: [{ path: 'messages' }] });
    expect(await thread.status()).toBe('completed');
    expect((await thread.ask('Hi')).taskId).not.toBe(taskId);
    expect(await thread.messages()).toHaveLength(4);
  });
});

function timeOf(time: string | null): number {
  return Date.parse(time ?? '');
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`There is no item ${index}.`);
  return item;
}
