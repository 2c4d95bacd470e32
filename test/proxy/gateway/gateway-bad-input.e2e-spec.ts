import { afterEach, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { legacyServer, sendResult } from '../../support/scripted-upstream.js';
import { Upstreams } from '../../support/upstreams.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(newTenant);
const upstreams = new Upstreams();

afterEach(() => upstreams.close());

const connection = (title: string, ...tools: string[]): Promise<string> => upstreams.connection(app, title, ...tools);
const listOf = (agentId: string, key?: string) => listThrough(app, gatewayPath(app, agentId), key);
const say = (agentId: string, name: string, key?: string) =>
  callThrough(app, gatewayPath(app, agentId), name, { text: 'hello' }, key);

describe('the composition of an agent', () => {
  it('can be empty', async () => {
    const id = await agentOf(app, []);
    expect(await listOf(id)).toEqual({ names: [], tools: [], unavailable: [] });
    expect((await say(id, 'echo')).rpc.error?.data.code).toBe('unknown_tool');
  });

  it('loses a deleted connection at once', async () => {
    const [a, b] = [await connection('A', 'echo'), await connection('B', 'other')];
    const id = await agentOf(app, [a, b]);
    expect((await listOf(id)).names).toEqual(['echo', 'other']);
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id: b });
    expect((await listOf(id)).names).toEqual(['echo']);
    expect((await say(id, 'other')).rpc.error?.data.code).toBe('unknown_tool');
  });

  it('has only selected tools that exist', async () => {
    const member = await connection('Member', 'echo', 'hidden');
    const id = await agentOf(app, [{ connection_id: member, selected_tools: ['echo', 'gone'] }]);
    expect((await listOf(id)).names).toEqual(['echo']);
    for (const name of ['gone', 'hidden']) {
      expect((await say(id, name)).rpc.error?.data.code).toBe('unknown_tool');
    }
    const { error } = (await say(id, 'ehco')).rpc;
    expect(error?.message).toBe('The agent has no tool with this name. Did you mean echo?');
  });

  it('accepts an upstream that lists a tool twice, and a description of 1 MB', async () => {
    const description = 'd'.repeat(2 ** 20);
    const { script } = legacyServer((request, response) => {
      const tool = { name: 'big', description, inputSchema: { type: 'object' }, vendor: { kept: true } };
      sendResult(response, request.message, { tools: [tool, { ...tool, description: 'second' }] });
    });
    const server = await upstreams.scripted(script);
    const { tools } = await listOf(await agentOf(app, [await connectTo(app, server.url)]));
    expect(tools).toEqual([{ name: 'big', description, inputSchema: { type: 'object' }, vendor: { kept: true } }]);
  });

  it('can contain agents, whose tools keep the names that they have there', async () => {
    const [a, b] = [await connection('A', 'echo'), await connection('B', 'echo', 'other')];
    const inner = await agentOf(app, [a, b], { title: 'Inner' });
    const outer = await agentOf(app, [
      await connection('C', 'a_echo'),
      { connection_id: inner, selected_tools: ['a_echo', 'other'] },
    ]);
    expect((await listOf(outer)).names).toEqual(['c_a_echo', 'inner_a_echo', 'other']);
    expect((await say(outer, 'inner_a_echo')).rpc.result?.content?.[0]?.text).toBe('echo says hello');
    for (const permissions of [{ [outer]: ['other'] }, { [inner]: ['other'] }, { [b]: ['other'] }]) {
      const key = await keyWith(app, permissions);
      expect((await listOf(outer, key)).names).toEqual(['other']);
      expect((await say(outer, 'other', key)).rpc.result).toBeDefined();
      expect((await say(outer, 'inner_a_echo', key)).status).toBe(403);
    }
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: inner, data: { status: 'inactive' } });
    expect(await listOf(outer)).toMatchObject({ names: ['c_a_echo'], unavailable: [{ connectionId: inner }] });
  });

  it('includes eight nested levels of agents, and reports the others', async () => {
    let id = await agentOf(app, [await connection('Deepest', 'deep')], { title: 'Level 9' });
    for (let level = 8; level > 0; level--) {
      id = await agentOf(app, [id, await connection(`Level ${level}`, `tool${level}`)], { title: `Level ${level}` });
    }
    const { names, unavailable } = await listOf(id);
    expect(names.toSorted()).toEqual(Array.from({ length: 8 }, (_, index) => `tool${index + 1}`));
    const reason = 'Agents are nested too deeply.';
    expect(unavailable).toEqual([{ connectionId: expect.any(String), title: 'Level 9', reason }]);
    expect((await say(id, 'tool8')).rpc.result).toBeDefined();
    expect((await say(id, 'deep')).rpc.error?.data.code).toBe('unknown_tool');
  });

  it('ends where a cycle begins', async () => {
    const a = await agentOf(app, [await connection('A', 'a')], { title: 'Agent A' });
    const b = await agentOf(app, [a, await connection('B', 'b')], { title: 'Agent B' });
    // Written directly, because the service refuses to save a cycle.
    await app.query('INSERT INTO agent_connections VALUES ($1, $2, 1)', [a, b]);
    for (const id of [a, b]) {
      const { names, unavailable } = await listOf(id);
      expect(names.toSorted()).toEqual(['a', 'b']);
      expect(unavailable).toMatchObject([{ connectionId: id }]);
      for (const name of names) expect((await say(id, name)).rpc.result).toBeDefined();
    }
  });

  it('reports a connection once that is missing in several places', async () => {
    const off = await connection('Off', 'off');
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: off, data: { status: 'inactive' } });
    const id = await agentOf(app, [off, await agentOf(app, [off]), await agentOf(app, [off])]);
    expect(await listOf(id)).toMatchObject({ names: [], unavailable: [{ connectionId: off, title: 'Off' }] });
  });

  it('gives the same connection a name on each path that contains it', async () => {
    const member = await connection('Member', 'echo');
    const inner = await agentOf(app, [member], { title: 'Inner' });
    const id = await agentOf(app, [member, inner]);
    expect((await listOf(id)).names).toEqual(['member_echo', 'inner_echo']);
    const key = await keyWith(app, { [inner]: ['echo'] });
    expect((await listOf(id, key)).names).toEqual(['inner_echo']);
    expect((await say(id, 'member_echo', key)).status).toBe(403);
  });

  it('of an inactive agent is refused to callers', async () => {
    const inner = await agentOf(app, [await connection('Member', 'echo')], { title: 'Inner' });
    const outer = await agentOf(app, [inner]);
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: inner, data: { status: 'inactive' } });
    const answer = await say(outer, 'echo');
    expect([answer.status, answer.rpc.error?.data.code]).toEqual([503, 'connection_unavailable']);
  });
});

describe('conflicting names', () => {
  it('stay distinct with equal titles and at 64 characters', async () => {
    const long = 'a'.repeat(64);
    const [a, b] = [await connection('Same', long, 'echo'), await connection('Same', long, 'echo')];
    const id = await agentOf(app, [a, b]);
    const { names } = await listOf(id);
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    for (const name of names) {
      const expected = name.startsWith('same_a') ? long : 'echo';
      expect((await say(id, name)).rpc.result?.content?.[0]?.text).toBe(`${expected} says hello`);
    }
    const reordered = await agentOf(app, [b, a]);
    expect((await listOf(reordered)).names.toSorted()).toEqual(names.toSorted());
  });
});
