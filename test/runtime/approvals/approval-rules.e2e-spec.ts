import { describe, expect, it } from '@jest/globals';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { expectProblem } from '../../support/problem.js';
import { callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { answer, SCRIPTED, startWaiting, TOOLS, useApprovalsApp } from './approvals.support.js';
import { newTenant } from '../../support/tenant.js';

const own = useApprovalsApp(newTenant);
const NAMES = Object.keys(TOOLS).toSorted();

/** The tools of an agent for which somebody is asked. */
async function askedFor(agentId: string, names: readonly string[] = NAMES): Promise<string[]> {
  own.model.script({ kind: 'tool-calls', calls: names.map((name) => ({ name, arguments: {} })) });
  const thread = await ThreadClient.create(own.app, agentId);
  const taskId = await thread.postMessage('Go', SCRIPTED);
  const { pending_approvals: pending } = await thread.waitFor(taskId, 'waiting', 'completed');
  await thread.cancel();
  return pending.map(({ tool_name: name }) => name).toSorted();
}

describe('the rule of a connection in an agent', () => {
  it.each([
    ['none', []],
    ['all', NAMES],
    ['destructive', ['send', 'wipe']],
    [
      ['look', 'put'],
      ['look', 'put'],
    ],
    [[], []],
  ])('%j asks for %j', async (rule, asked) => {
    expect(await askedFor(await own.createAgent(rule))).toEqual(asked);
  });

  it('asks for nothing by default', async () => {
    expect(await askedFor(await createAgent(own.app, [own.connectionId]))).toEqual([]);
  });

  it('of an agent within an agent: the stricter one counts', async () => {
    const inner = await own.createAgent(['send']);
    const outer = (approval: unknown): Promise<string> =>
      createAgent(own.app, [], { connections: [{ connection_id: inner, approval }] });
    expect(await askedFor(await outer('none'))).toEqual(['send']);
    expect(await askedFor(await outer(['look']))).toEqual(['look', 'send']);
    expect(await askedFor(await outer('destructive'))).toEqual(['send', 'wipe']);
    expect(await askedFor(await outer('all'))).toEqual(NAMES);
  });

  it('names the tools of two connections by the names that each has for them', async () => {
    const other = await connect(own.app, own.upstream.url, 'Other');
    const connections = [
      { connection_id: own.connectionId, prefix: 'one', approval: ['send'] },
      { connection_id: other, prefix: 'two', approval: 'none' },
    ];
    const agentId = await createAgent(own.app, [], { connections });
    const { names } = await listThrough(own.app, gatewayPath(own.app, agentId));
    const sends = names.filter((name) => name.includes('send'));
    expect(sends).toHaveLength(2);
    expect(await askedFor(agentId, sends)).toHaveLength(1);
  });

  it('of an outer agent finds tools by the names of their upstreams, whatever an inner agent calls them', async () => {
    const other = await connect(own.app, own.upstream.url, 'Other');
    const connections = [
      { connection_id: own.connectionId, prefix: 'one' },
      { connection_id: other, prefix: 'two' },
    ];
    const inner = await createAgent(own.app, [], { connections });
    const outer = await createAgent(own.app, [], { connections: [{ connection_id: inner, approval: ['send'] }] });
    const { names } = await listThrough(own.app, gatewayPath(own.app, outer));
    const sends = names.filter((name) => name.includes('send')).toSorted();
    expect(sends).toHaveLength(2);
    expect(await askedFor(outer, sends)).toEqual(sends);
  });

  it('destructive asks for tools that are not listed at the moment', async () => {
    const upstream = await startMcpUpstream({ look: { ...TOOLS.look, handler: () => 'done' } });
    const connectionId = await connectTo(own.app, upstream.url);
    const connections = [{ connection_id: connectionId, selected_tools: ['look'], approval: 'destructive' }];
    await upstream.close();
    const agentId = await createAgent(own.app, [], { connections });
    expect(await askedFor(agentId, ['look'])).toEqual(['look']);
  });

  it('does not concern calls through the gateway', async () => {
    const agentId = await own.createAgent('all');
    const { rpc } = await callThrough(own.app, gatewayPath(own.app, agentId), 'send');
    expect(rpc.result?.content).toEqual([{ type: 'text', text: 'send done' }]);
  });

  it.each([['some'], [null], [true], [['']], [[7]], [['a', 'a']], [{ tools: [] }], [['a\0b']]])(
    'is refused if it is %j',
    async (approval) => {
      const data = { title: 'Agent', connections: [{ connection_id: own.connectionId, approval }] };
      expectProblem(await own.app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data }), 400, 'invalid_request');
    },
  );

  it.each([59, 2_592_001, 60.5, '60', null])('with the time limit %j is refused', async (approval_timeout) => {
    const data = { title: 'Agent', approval_timeout };
    expectProblem(await own.app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data }), 400, 'invalid_request');
  });

  it('is kept with the time limit, and changed by an update', async () => {
    const id = await own.createAgent('destructive', { approval_timeout: 60 });
    const get = async (): Promise<object> =>
      (await succeed<{ item: object }>(own.app, 'COLLECTION_VIRTUAL_MCP_GET', { id })).item;
    expect(await get()).toMatchObject({ approval_timeout: 60, connections: [{ approval: 'destructive' }] });
    await succeed(own.app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { approval_timeout: 2_592_000 } });
    expect(await get()).toMatchObject({ approval_timeout: 2_592_000, connections: [{ approval: 'destructive' }] });
  });

  it('counts for the next call, and not for one that waits already', async () => {
    const agentId = await own.createAgent('all');
    const update = (approval: unknown) =>
      succeed(own.app, 'COLLECTION_VIRTUAL_MCP_UPDATE', {
        id: agentId,
        data: { connections: [{ connection_id: own.connectionId, approval }] },
      });
    const { thread, stream, approvals } = await startWaiting(
      own.app,
      agentId,
      '/call send {"n":1}\n/call send {"n":2}',
    );
    await update('none');
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    await stream.collectUntilDone();
    expect(own.upstream.calls.map(({ arguments: { n } }) => n)).toEqual([1, 2]);
    await update(['wipe']);
    expect(await askedFor(agentId)).toEqual(['wipe']);
  });

  it('can be loosened only by who may call the tools', async () => {
    const id = await own.createAgent('all');
    const editor = await keyWith(own.app, { self: ['COLLECTION_VIRTUAL_MCP_UPDATE', 'COLLECTION_VIRTUAL_MCP_CREATE'] });
    const update = (approval: unknown) =>
      own.app.tool(
        'COLLECTION_VIRTUAL_MCP_UPDATE',
        { id, data: { connections: [{ connection_id: own.connectionId, approval }] } },
        editor,
      );
    expectProblem(await update('none'), 403, 'permission_widening');
    expectProblem(await update(['send']), 403, 'permission_widening');
    expect((await update('all')).status).toBe(200);
  });
});
