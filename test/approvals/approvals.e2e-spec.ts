import { describe, expect, it } from '@jest/globals';
import { toolPartsOf } from '../runs/runs.support.js';
import { answer, startWaiting, useApprovalsApp, validated } from './approvals.support.js';

const own = useApprovalsApp();

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
        input: { to: 'a' },
        requested_at: expect.any(String),
        expires_at: expect.any(String),
      },
    ]);
    expect(await thread.status()).toBe('in_progress');
    expect(own.upstream.calls).toEqual([]);
    const id = approvals[0]!.id;
    const accepted = await answer(own.app, thread.id, id, { approved: true }).expect(202);
    expect(accepted.body).toEqual({ approvalId: id, approved: true });
    const collected = await stream.collectUntilDone();
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', pending_approvals: [] });
    const message = await thread.expectWhole(taskId, collected);
    expect(own.upstream.calls).toMatchObject([{ tool: 'send', arguments: { to: 'a' } }]);
    expect(toolPartsOf(message.parts)).toMatchObject([
      { toolName: 'send', state: 'output-available', approval: { id, approved: true } },
    ]);
    await validated(message);
  });
});
