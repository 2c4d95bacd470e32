import { describe, expect, it } from '@jest/globals';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { toolPartsOf } from '../runs/runs.support.js';
import { answer, expire, SCRIPTED, startWaiting, useApprovalsApp, validated } from './approvals.support.js';
import { newTenant } from '../../support/tenant.js';

const own = useApprovalsApp(newTenant);

describe('an approval that nobody answers', () => {
  it('is denied after the time of its agent, and the run goes on', async () => {
    const agentId = await own.createAgent('all', { approval_timeout: 60 });
    // The shortest time that an agent can have is a minute.
    await own.app.query('UPDATE agents SET approval_timeout = 1 WHERE id = $1', [agentId]);
    const { thread, stream, taskId } = await startWaiting(own.app, agentId, '/call send {}\nand on');
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-denied', approval: { approved: false, reason: 'timed out' } },
    ]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', pending_approvals: [] });
    expect(own.upstream.calls).toEqual([]);
    await validated(message);
  });

  it('does not undo the answers to others of its step', async () => {
    own.model.script({
      kind: 'tool-calls',
      calls: [
        { name: 'send', arguments: {} },
        { name: 'wipe', arguments: {} },
      ],
    });
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, 'Go', SCRIPTED);
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    await expire(own.app, taskId);
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(toolPartsOf(message.parts)).toMatchObject([{ state: 'output-available' }, { state: 'output-denied' }]);
    expect(own.upstream.calls.map(({ tool }) => tool)).toEqual(['send']);
  });
});

describe('cancelling a run', () => {
  it('that waits denies its calls and ends its stream', async () => {
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, '/call send {}');
    expect((await thread.cancel().expect(202)).body).toEqual({ taskIds: [taskId] });
    const collected = await stream.collectUntilDone();
    const message = await thread.expectWhole(taskId, collected);
    expect(collected.chunks.slice(-4).map(({ type }) => type)).toEqual([
      'tool-approval-response',
      'tool-output-denied',
      'message-metadata',
      'abort',
    ]);
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-denied', approval: { id: approvals[0]?.id, approved: false, reason: 'cancelled' } },
    ]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'cancelled', pending_approvals: [] });
    expect(await thread.status()).toBe('failed');
    await validated(message);
  });

  it('with one answer of two given makes neither call', async () => {
    own.model.script({
      kind: 'tool-calls',
      calls: [
        { name: 'send', arguments: {} },
        { name: 'wipe', arguments: {} },
      ],
    });
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, 'Go', SCRIPTED);
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    await succeed(own.app, 'RUN_CANCEL', { id: taskId });
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-error', approval: { approved: true } },
      { state: 'output-denied', approval: { approved: false } },
    ]);
    expect(own.upstream.calls).toEqual([]);
    await validated(message);
  });

  it('whose approval is open while another call is made denies it at once', async () => {
    const { look } = own.upstream.tools;
    own.upstream.tools['look'] = {
      ...look,
      handler: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
    };
    const agentId = await own.createAgent(['send']);
    const calls = [
      { name: 'look', arguments: {} },
      { name: 'send', arguments: {} },
    ];
    own.model.script({ kind: 'tool-calls', calls });
    const { thread, stream, taskId } = await own.start(agentId, 'Go', SCRIPTED);
    await eventually(async () => expect((await thread.run(taskId)).pending_approvals).toHaveLength(1));
    const [{ id = '' } = {}] = (await thread.run(taskId)).pending_approvals;
    await thread.cancel(taskId).expect(202);
    expect((await answer(own.app, thread.id, id, { approved: true })).status).toBe(409);
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(toolPartsOf(message.parts)).toMatchObject([{ state: 'output-error' }, { state: 'output-denied' }]);
    await validated(message);
    if (look) own.upstream.tools['look'] = look;
  });
});

describe('a run whose poster is gone while it waits', () => {
  it('fails with poster_gone', async () => {
    const created = await succeed<{ id: string; key: string }>(own.app, 'API_KEY_CREATE', {
      name: 'poster',
      permissions: {},
    });
    const thread = await ThreadClient.create(own.app, own.agentId);
    const stream = await thread.stream();
    const posted = await thread.post(thread.request('/call send {}'), { key: created.key });
    const { taskId } = posted.body as { taskId: string };
    const { pending_approvals: approvals } = await thread.waitFor(taskId, 'waiting');
    await succeed(own.app, 'API_KEY_DELETE', { id: created.id });
    const collected = await stream.collectUntilDone();
    const message = await thread.expectWhole(taskId, collected);
    expect(await thread.run(taskId)).toMatchObject({
      status: 'failed',
      error: { code: 'poster_gone', message: expect.stringContaining('waited for an approval') },
      pending_approvals: [],
    });
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-denied', approval: { approved: false, reason: 'poster gone' } },
    ]);
    expect((await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true })).status).toBe(409);
    expect(own.upstream.calls).toEqual([]);
    await validated(message);
  });
});
