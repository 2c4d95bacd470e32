import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { AgentToolset, type AgentTool, type OpenToolset } from '../../src/agents/agent-toolset.js';
import { ConnectionDirectory } from '../../src/connections/connection-directory.js';
import { AnswerBudget } from '../../src/core/answers/answer-budget.js';
import { OrganizationsService } from '../../src/identity/organizations/organizations.service.js';
import { ToolInvoker } from '../../src/upstreams/tool-invoker.js';
import { succeed } from '../support/agent-runs.js';
import { startTestApp } from '../support/app.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { agentOf } from '../support/gateway-agents.js';
import { connectTo } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { legacyServer, sendResult } from '../support/scripted-upstream.js';
import { DEAD_URL, Upstreams } from '../support/upstreams.js';
import { useStarted } from '../support/use-started.js';

const CALLER = { userId: randomUUID(), requestId: 'request-1' };
const OWNER = { key: 'test', callerId: 'test' };

const app = useStarted(startTestApp);
let organizationId: string;
const upstreams = new Upstreams();

beforeAll(async () => {
  organizationId = (await app.app.get(OrganizationsService, { strict: false }).ensure(app.org)).id;
});
afterEach(() => upstreams.close());

function open(agentId: string, signal?: AbortSignal): Promise<OpenToolset> {
  const toolset = app.app.get(AgentToolset, { strict: false });
  return toolset.openToolset(
    { id: agentId, organizationId },
    { caller: CALLER, owner: OWNER, ...(signal && { signal }) },
  );
}

function toolOf({ tools }: OpenToolset, name: string): AgentTool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool;
}

/** The names of the tools that can be listed, and of those that cannot. */
function namesOf({ tools }: OpenToolset): { listed: string[]; silent: string[] } {
  const { listed = [], silent = [] } = Object.groupBy(tools, ({ definition }) => (definition ? 'listed' : 'silent'));
  return { listed: listed.map(({ name }) => name), silent: silent.map(({ name }) => name) };
}

const setStatus = (id: string, status: string): Promise<unknown> =>
  succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { status } });

describe('the tools of an agent', () => {
  it('are those of its connections, and can be called', async () => {
    const server = await upstreams.serve('b', 'a', 'hidden');
    const left = await connectTo(app, server.url, { title: 'Left' });
    const opened = await open(await agentOf(app, [{ connection_id: left, selected_tools: ['a', 'b'] }]));
    expect(opened.unavailable).toEqual([]);
    expect(opened.tools).toMatchObject([
      { name: 'a', upstreamName: 'a', definition: { description: 'The tool a', annotations: { readOnlyHint: true } } },
      { name: 'b', definition: { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } } },
    ]);
    const result = await toolOf(opened, 'b').call({ text: 'hello' });
    expect(result).toEqual({ content: [{ type: 'text', text: 'b says hello' }] });
    expect(server.calls('tools/call')[0]?.headers).toMatchObject({ 'x-request-id': 'request-1' });
  });

  it('have large answers that count towards the memory for answers, until these are given back', async () => {
    const { script } = legacyServer(({ message }, response) => {
      const tools = [{ name: 'large', inputSchema: { type: 'object' } }];
      if (message.method === 'tools/list') sendResult(response, message, { tools });
      else sendResult(response, message, { content: [{ type: 'text', text: 'x'.repeat(100_000) }] });
    });
    const { url } = await upstreams.scripted(script);
    const large = toolOf(await open(await agentOf(app, [await connectTo(app, url)])), 'large');
    const budget = app.app.get(AnswerBudget, { strict: false });
    const room = large.openRoom();
    expect((await large.call({}, { room })).content).toHaveLength(1);
    expect(budget.heldBytes).toBeGreaterThan(100_000);
    room.leave();
    expect(budget.heldBytes).toBe(0);
  });

  it('have the names of the real server', async () => {
    const everything: EverythingServer = await startEverything();
    try {
      const opened = await open(await agentOf(app, [await connectTo(app, everything.url)]));
      const answer = await toolOf(opened, 'echo').call({ message: 'hi' });
      expect(answer).toMatchObject({ content: [{ type: 'text', text: 'Echo: hi' }] });
    } finally {
      await everything.close();
    }
  });

  it('keep their names when an upstream goes down, comes back, or is listed elsewhere', async () => {
    const [left, right] = [await upstreams.serve('echo', 'only-left'), await upstreams.serve('echo', 'only-right')];
    const a = await connectTo(app, left.url, { title: 'Left' });
    const b = await connectTo(app, right.url, { title: 'Right' });
    const id = await agentOf(app, [a, b]);
    const all = ['left_echo', 'only-left', 'only-right', 'right_echo'];
    expect(namesOf(await open(id))).toEqual({ listed: all, silent: [] });

    await setStatus(b, 'inactive');
    const without = await open(id);
    expect(namesOf(without)).toEqual({ listed: ['left_echo', 'only-left'], silent: ['only-right', 'right_echo'] });
    expect(without.unavailable).toEqual([{ connectionId: b, title: 'Right', reason: 'The connection is inactive.' }]);

    await setStatus(b, 'active');
    expect(namesOf(await open(id)).listed).toEqual(all);
    const connections = [{ connection_id: b }, { connection_id: a }];
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
    expect(namesOf(await open(id)).listed.toSorted()).toEqual(all);
  });

  it('have plain names again once the other tool is known to be gone', async () => {
    const [left, right] = [await upstreams.serve('echo'), await upstreams.serve('echo')];
    const b = await connectTo(app, right.url, { title: 'Right' });
    const id = await agentOf(app, [await connectTo(app, left.url, { title: 'Left' }), b]);
    expect(namesOf(await open(id)).listed).toEqual(['left_echo', 'right_echo']);
    right.tools = ['other'];
    expect(await succeed(app, 'CONNECTION_TEST', { id })).toMatchObject({ ok: true, tools: 2 });
    expect(namesOf(await open(id)).listed).toEqual(['echo', 'other']);
  });

  it('need no prefix next to a tool that was not selected', async () => {
    const [left, right] = [await upstreams.serve('echo', 'add'), await upstreams.serve('echo', 'add')];
    const id = await agentOf(app, [
      { connection_id: await connectTo(app, left.url, { title: 'Left' }), selected_tools: ['echo'] },
      { connection_id: await connectTo(app, right.url, { title: 'Right' }), selected_tools: ['add'], prefix: 'r' },
    ]);
    expect(namesOf(await open(id)).listed).toEqual(['echo', 'add']);
  });

  it('are not hidden by dead, silent and empty connections', async () => {
    const server = await upstreams.serve('echo');
    const silent = await upstreams.scripted(() => undefined);
    const dead = await connectTo(app, DEAD_URL, { title: 'Dead' });
    const quiet = await connectTo(app, silent.url, { title: 'Silent', timeout: 1000 });
    const empty = await agentOf(app, [], { title: 'Empty' });
    const id = await agentOf(app, [dead, quiet, empty, await connectTo(app, server.url, { title: 'Live' })]);
    const opened = await open(id);
    expect(namesOf(opened)).toEqual({ listed: ['echo'], silent: [] });
    expect(opened.unavailable).toEqual([
      { connectionId: dead, title: 'Dead', reason: 'The upstream at 127.0.0.1:9 refused the connection.' },
      { connectionId: quiet, title: 'Silent', reason: expect.stringContaining('did not answer within 1000 ms') },
    ]);
    const check = { ok: false, tools: 1, protocol_version: null, error: expect.stringContaining('Dead: ') };
    expect(await succeed(app, 'CONNECTION_TEST', { id })).toMatchObject(check);
    expect(await succeed(app, 'COLLECTION_VIRTUAL_MCP_GET', { id })).toMatchObject({ item: { status: 'error' } });
  });

  it('are given up when the run is', async () => {
    const silent = await upstreams.scripted(() => undefined);
    const id = await agentOf(app, [await connectTo(app, silent.url)]);
    const run = new AbortController();
    const opening = open(id, run.signal);
    setTimeout(() => run.abort(new Error('cancelled by the test')), 50);
    await expect(opening).rejects.toThrow('cancelled by the test');
    await expect(open(id, run.signal)).rejects.toThrow('cancelled by the test');
  });

  it('cannot be called beyond the selection, nor once the connection is inactive or gone', async () => {
    const server = await upstreams.serve('a', 'b');
    const connectionId = await connectTo(app, server.url);
    const opened = await open(await agentOf(app, [connectionId]));
    const invoker = app.app.get(ToolInvoker, { strict: false });
    const forbidden = invoker.callTool({
      connection: await app.app
        .get(ConnectionDirectory, { strict: false })
        .requireConnection(organizationId, connectionId),
      entryPoint: 'run',
      toolName: 'b',
      args: {},
      caller: CALLER,
      permitted: (toolName) => toolName === 'a',
    });
    await expect(forbidden).rejects.toMatchObject({ code: 'permission_denied' });

    await setStatus(connectionId, 'inactive');
    await expect(toolOf(opened, 'a').call({})).rejects.toMatchObject({ code: 'connection_unavailable' });
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id: connectionId });
    await expect(toolOf(opened, 'a').call({})).rejects.toMatchObject({ code: 'not_found' });
    expect(server.calls('tools/call')).toEqual([]);
  });

  it('of an agent inside are refused once that is switched off, and keep their names', async () => {
    const [inside, beside] = [await upstreams.serve('echo'), await upstreams.serve('echo')];
    const inner = await agentOf(app, [await connectTo(app, inside.url)], { title: 'Inner' });
    const id = await agentOf(app, [inner, await connectTo(app, beside.url, { title: 'Beside' })]);
    expect((await toolOf(await open(id), 'inner_echo').call({ text: 'hello' })).content).toHaveLength(1);
    await setStatus(inner, 'inactive');
    const opened = await open(id);
    expect(namesOf(opened)).toEqual({ listed: ['beside_echo'], silent: ['inner_echo'] });
    await expect(toolOf(opened, 'inner_echo').call({})).rejects.toMatchObject({ code: 'connection_unavailable' });
    expect(inside.calls('tools/call')).toHaveLength(1);
  });

  it('are read once for many runs at once', async () => {
    const server = await upstreams.serve('echo');
    const id = await agentOf(app, [await connectTo(app, server.url)]);
    const opened = await Promise.all(Array.from({ length: 50 }, () => open(id)));
    for (const toolset of opened) expect(namesOf(toolset).listed).toEqual(['echo']);
    expect(server.calls('tools/list')).toHaveLength(1);
    server.tools = ['echo', 'new'];
    // Every reader of the connection finds the new list.
    await succeed(app, 'CONNECTION_TEST', { id });
    await eventually(async () => expect(namesOf(await open(id)).listed).toHaveLength(2));
  });
});
