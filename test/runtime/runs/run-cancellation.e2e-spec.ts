import { describe, expect, it } from '@jest/globals';
import type { UIMessageChunk } from 'ai';
import { LONG, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { HELD, toolPartsOf, useRunsApp } from './runs.support.js';

const runsApp = useRunsApp();

describe('cancelling', () => {
  it('a running run keeps the answer so far', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage(`This much\n${LONG}\n/words 5`);
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
    const holding = await runsApp.createHoldingAgent();
    const thread = await ThreadClient.create(runsApp.app, holding.agentId);
    const first = await thread.postMessage(HELD);
    const second = await thread.postMessage('never');
    const third = await thread.postMessage('still');
    const stream = await thread.stream({ query: { taskId: second } });
    await succeed(runsApp.app, 'RUN_CANCEL', { id: second });
    expect((await stream.collectUntilDone()).chunks.map(({ type }) => type)).toEqual(['start', 'abort']);
    holding.release();
    expect(await thread.waitFor(third, 'completed')).toMatchObject({ attempt: 1 });
    expect(await thread.run(first)).toMatchObject({ status: 'completed' });
    expect(await thread.run(second)).toMatchObject({ status: 'cancelled', steps: 0 });
    expect(await thread.status()).toBe('completed');
  });

  it('by RUN_CANCEL stops a tool call under way, and leaves a finished run as it is', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage('/call trigger-long-running-operation {"duration":20,"steps":20}');
    const chunks: UIMessageChunk[] = [];
    const ids: string[] = [];
    for await (const { id, data } of stream.frames()) {
      if (data === '[DONE]') break;
      ids.push(id ?? '');
      chunks.push(JSON.parse(data) as UIMessageChunk);
      if (chunks.at(-1)?.type === 'tool-input-available') await succeed(runsApp.app, 'RUN_CANCEL', { id: taskId });
    }
    const { parts, metadata } = await thread.expectWhole(taskId, { ids, chunks });
    expect(toolPartsOf(parts)).toMatchObject([
      { state: 'output-error', errorText: expect.stringContaining('cancelled') },
    ]);
    expect(metadata).toMatchObject({ aborted: true });
    expect(await succeed(runsApp.app, 'RUN_CANCEL', { id: taskId })).toMatchObject({ item: { status: 'cancelled' } });

    const done = await thread.ask('Done');
    expect(await succeed(runsApp.app, 'RUN_CANCEL', { id: done.taskId })).toMatchObject({
      item: { status: 'completed' },
    });
    expect(await thread.status()).toBe('completed');
    expect((await thread.cancel()).body).toEqual({ taskIds: [] });
  });

  it('unknown ids get 404', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    expect((await thread.cancel(thread.agentId)).body).toMatchObject({ status: 404, code: 'run_not_found' });
    const nowhere = new ThreadClient(runsApp.app, runsApp.agentId, 'nowhere');
    expect((await nowhere.cancel()).body).toMatchObject({ status: 404, code: 'thread_not_found' });
  });
});

/** Waits until the built-in model has said its first words. */
async function untilText(thread: ThreadClient, taskId: string): Promise<void> {
  const stream = await thread.stream({ query: { taskId } });
  for await (const { data } of stream.frames()) if (data.includes('much')) break;
  stream.close();
}
