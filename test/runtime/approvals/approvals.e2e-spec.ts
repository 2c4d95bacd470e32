import { describe, expect, it } from '@jest/globals';
import { connect, succeed, textOf } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { RunApprovals } from '../../../src/runtime/runs/records/run-approvals.js';
import type { PendingApprovalItem } from '../../../src/runtime/runs/records/approval.dto.js';
import { toolPartsOf } from '../runs/runs.support.js';
import { readRun } from '../turns/turns.support.js';
import {
  answer,
  createAskingAgent,
  SCRIPTED,
  startUpstream,
  startWaiting,
  useApprovalsApp,
  validated,
} from './approvals.support.js';

const own = useApprovalsApp(startTestApp);

describe('a call that needs an approval', () => {
  it('is made once somebody has approved it, in one stream', async () => {
    const { thread, stream, taskId, run, approvals } = await startWaiting(
      own.app,
      own.agentId,
      '/call send {"to":"a"}',
    );
    expect(run).toMatchObject({ status: 'waiting' });
    expect(approvals).toEqual([
      {
        id: expect.any(String),
        tool_call_id: expect.any(String),
        tool_name: 'send',
        connection_id: own.connectionId,
        connection_title: 'Tools',
        connection_host: new URL(own.upstream.url).host,
        upstream_tool: 'send',
        input: { to: 'a' },
        requested_at: expect.any(String),
        expires_at: expect.any(String),
      },
    ]);
    const [{ id = '', requested_at = '', expires_at = '' } = {}] = approvals;
    expect(Date.parse(expires_at) - Date.parse(requested_at)).toBe(86_400_000);
    expect(await thread.status()).toBe('in_progress');
    await validated(await thread.answer(taskId));
    expect(own.upstream.calls).toEqual([]);

    const accepted = await answer(own.app, thread.id, id, { approved: true }).expect(202);
    expect(accepted.headers).toMatchObject({ location: `/api/default/agent-runtime/runs/${taskId}` });
    expect(accepted.body).toEqual({ approvalId: id, approved: true });
    const collected = await stream.collectUntilDone();
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', pending_approvals: [] });
    const message = await thread.expectWhole(taskId, collected);
    expect(own.upstream.calls).toMatchObject([{ tool: 'send', arguments: { to: 'a' } }]);
    const types = collected.chunks.map(({ type }) => type);
    expect(types.filter((type) => type === 'start')).toHaveLength(1);
    expect(types.filter((type) => type.startsWith('tool-approval') || type.startsWith('tool-output'))).toEqual([
      'tool-approval-request',
      'tool-approval-response',
      'tool-output-available',
    ]);
    expect(toolPartsOf(message.parts)).toMatchObject([
      { toolName: 'send', state: 'output-available', approval: { id, approved: true } },
    ]);
    await validated(message);
  });

  it('is not made if somebody denies it, and the model learns why', async () => {
    const text = '/call send {"to":"a"}\nand on';
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, text);
    const id = approvals[0]?.id ?? '';
    await answer(own.app, thread.id, id, { approved: false, reason: 'not this one' }).expect(202);
    const collected = await stream.collectUntilDone();
    const message = await thread.expectWhole(taskId, collected);
    expect(own.upstream.calls).toEqual([]);
    expect(collected.chunks).toContainEqual({
      type: 'tool-approval-response',
      approvalId: id,
      approved: false,
      reason: 'not this one',
    });
    expect(collected.chunks).toContainEqual({ type: 'tool-output-denied', toolCallId: approvals[0]?.tool_call_id });
    expect(toolPartsOf(message.parts)).toMatchObject([
      { state: 'output-denied', approval: { id, approved: false, reason: 'not this one' } },
    ]);
    expect(textOf(collected.chunks)).toContain('not this one');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
    await validated(message);
    // The next run reads the denial as part of its history.
    const next = await thread.ask('hello');
    expect(textOf(next.chunks)).toContain('You said: hello');
  });

  it('is asked about again when it would reach another connection, another address, or another tool', async () => {
    const others = await Promise.all([startUpstream(), startUpstream()]);
    const [other, moved] = others;
    try {
      const agentId = await own.createAgent('all');
      const { thread, stream, taskId, approvals } = await startWaiting(own.app, agentId, '/call send {"to":"a"}');
      const asked = [approvals[0]];
      /** Approves what was asked last; the run has to ask again. */
      const approve = async (): Promise<void> => {
        const { id } = asked.at(-1) as PendingApprovalItem;
        await answer(own.app, thread.id, id, { approved: true }).expect(202);
        await eventually(async () => {
          const [pending] = (await thread.run(taskId)).pending_approvals;
          if (pending === undefined || pending.id === id) return false;
          asked.push(pending);
          return true;
        });
      };
      const connectionId = await connect(own.app, other.url, 'Other');
      const connections = [{ connection_id: connectionId, approval: 'all' }];
      await succeed(own.app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { connections } });
      await approve();
      const data = { connection_url: moved.url };
      await succeed(own.app, 'COLLECTION_CONNECTIONS_UPDATE', { id: connectionId, data });
      await approve();
      moved.tools['send'] = { ...moved.tools['send'], description: 'Sends money.', handler: () => 'sent' };
      await approve();
      expect(asked.map((item) => [item?.connection_title, item?.upstream_tool, item?.input])).toEqual([
        ['Tools', 'send', { to: 'a' }],
        ...Array.from({ length: 3 }, () => ['Other', 'send', { to: 'a' }]),
      ]);
      expect([...own.upstream.calls, ...other.calls, ...moved.calls]).toEqual([]);

      await answer(own.app, thread.id, asked.at(-1)?.id ?? '', { approved: true }).expect(202);
      const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
      expect(toolPartsOf(message.parts)).toMatchObject([{ state: 'output-available' }]);
      expect(moved.calls).toMatchObject([{ tool: 'send', arguments: { to: 'a' } }]);
      await validated(message);
    } finally {
      for (const upstream of others) await upstream.close();
    }
  });

  it('is not made if its connection changes after the approval was compared', async () => {
    const [approved, moved] = await Promise.all([startUpstream(), startUpstream()]);
    const connectionId = await connect(own.app, approved.url, 'Moving');
    const agentId = await createAskingAgent(own.app, connectionId, 'all');
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, agentId, '/call send {"to":"a"}');
    const records = own.app.app.get(RunApprovals);
    const takeCall = records.takeCall.bind(records);
    records.takeCall = async (...values) => {
      const data = { connection_url: moved.url };
      await succeed(own.app, 'COLLECTION_CONNECTIONS_UPDATE', { id: connectionId, data });
      return takeCall(...values);
    };
    try {
      await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
      const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
      expect([...approved.calls, ...moved.calls]).toEqual([]);
      expect(toolPartsOf(message.parts)).toMatchObject([
        { state: 'output-error', errorText: 'The call needs an approval.' },
      ]);
    } finally {
      records.takeCall = takeCall;
      await Promise.all([approved.close(), moved.close()]);
    }
  });

  it('is not asked about when its arguments do not validate: the model learns the faults', async () => {
    const inputSchema = { type: 'object' as const, properties: { to: { type: 'string' } }, required: ['to'] };
    const strict = await startMcpUpstream({ send: { inputSchema, handler: () => 'sent' } });
    try {
      const connectionId = await connect(own.app, strict.url, 'Strict');
      const agentId = await createAskingAgent(own.app, connectionId, 'all');
      const { thread, stream, taskId } = await own.start(agentId, '/call send {"to":1}');
      const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
      expect(toolPartsOf(message.parts)).toMatchObject([
        { state: 'output-error', errorText: expect.stringContaining('arguments.to') },
      ]);
      expect(strict.calls).toEqual([]);
    } finally {
      await strict.close();
    }
  });

  it('asks about arguments with characters that PostgreSQL cannot store as text', async () => {
    const text = String.raw`/call send {"text":"\u0000\ud800"}`;
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, text);
    expect(approvals[0]?.input).toEqual({ text: '\0\ud800' });
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: false }).expect(202);
    await stream.collectUntilDone();
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed' });
  });

  it('waits again in a later step', async () => {
    const text = '/call send {"n":1}\n/call send {"n":2}';
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, own.agentId, text);
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    await eventually(async () => {
      const { status, pending_approvals: pending } = await thread.run(taskId);
      return status === 'waiting' && pending[0]?.id !== approvals[0]?.id;
    });
    const [second] = (await thread.run(taskId)).pending_approvals;
    expect(second?.input).toEqual({ n: 2 });
    await answer(own.app, thread.id, second?.id ?? '', { approved: true }).expect(202);
    await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(own.upstream.calls.map(({ arguments: { n } }) => n)).toEqual([1, 2]);
  });

  it('waits for all answers of its step; calls that need none are made at once', async () => {
    const agentId = await own.createAgent(['send', 'wipe']);
    own.model.script({
      kind: 'tool-calls',
      calls: [
        { name: 'look', arguments: {} },
        { name: 'send', arguments: {} },
        { name: 'wipe', arguments: {} },
        { name: 'put', arguments: {} },
      ],
    });
    const { thread, stream, taskId, approvals } = await startWaiting(own.app, agentId, 'Go', SCRIPTED);
    expect(approvals.map(({ tool_name: name }) => name)).toEqual(['send', 'wipe']);
    expect(own.upstream.calls.map(({ tool }) => tool).toSorted()).toEqual(['look', 'put']);
    const [send, wipe] = approvals.map(({ id }) => id);
    await answer(own.app, thread.id, send ?? '', { approved: true }).expect(202);
    expect(await thread.run(taskId)).toMatchObject({ status: 'waiting', pending_approvals: [{ id: wipe }] });
    const { body } = await readRun(own.app, taskId).expect(200);
    const [{ tool_call_id: call } = {}] = approvals;
    expect(body).toMatchObject({
      pending_approvals: [{ id: wipe }],
      answered_approvals: [{ id: send, tool_call_id: call, approved: true, reason: null, closed_as: 'answered' }],
    });
    await answer(own.app, thread.id, wipe ?? '', { approved: false }).expect(202);
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(own.upstream.calls.map(({ tool }) => tool).toSorted()).toEqual(['look', 'put', 'send']);
    expect(toolPartsOf(message.parts).map((part) => 'state' in part && part.state)).toEqual([
      'output-available',
      'output-available',
      'output-denied',
      'output-available',
    ]);
    await validated(message);
    // The model got an outcome for each of its calls.
    const results = own.model.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool');
    expect(results).toHaveLength(4);
  });

  it('can be answered while other calls of its step are being made', async () => {
    const finishing = Promise.withResolvers<string>();
    const { look } = own.upstream.tools;
    own.upstream.tools['look'] = { ...look, handler: () => finishing.promise };
    const agentId = await own.createAgent(['send']);
    const calls = [
      { name: 'look', arguments: {} },
      { name: 'send', arguments: {} },
    ];
    own.model.script({ kind: 'tool-calls', calls });
    const { thread, stream, taskId } = await own.start(agentId, 'Go', SCRIPTED);
    await eventually(async () => expect((await thread.run(taskId)).pending_approvals).toHaveLength(1));
    await eventually(() => expect(own.upstream.calls.map(({ tool }) => tool)).toEqual(['look']));
    const { status, pending_approvals: pending } = await thread.run(taskId);
    expect(status).toBe('running');
    await answer(own.app, thread.id, pending[0]?.id ?? '', { approved: true }).expect(202);
    expect(own.upstream.calls.map(({ tool }) => tool)).toEqual(['look']);
    finishing.resolve('seen');
    await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(own.upstream.calls.map(({ tool }) => tool)).toEqual(['look', 'send']);
    if (look) own.upstream.tools['look'] = look;
  });

  it('asks nobody about calls that cannot be made', async () => {
    own.model.script({ kind: 'tool-calls', calls: [{ name: 'missing', arguments: {} }] });
    const { thread, stream, taskId } = await own.start(own.agentId, 'Go', SCRIPTED);
    const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(toolPartsOf(message.parts)).toMatchObject([{ state: 'output-error' }]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed' });
  });
});
