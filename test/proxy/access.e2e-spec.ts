import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccessGraph, AccessOfCaller, AccessTools, AccessToTool } from '../../src/proxy/access/access.dto.js';
import { newId } from '../../src/core/ids.js';
import { succeed } from '../support/agent-runs.js';
import { agentOf, callThrough, gatewayPath } from '../support/gateway-agents.js';
import { pathOf } from '../support/proxy-calls.js';
import { connectTo } from '../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { addKey, newTenant, type Tenant } from '../support/tenant.js';

const inputSchema = { type: 'object' };
const TOOLS = [
  { name: 'read', inputSchema },
  { name: 'write', inputSchema, annotations: { destructiveHint: true } },
  { name: 'open', inputSchema, _meta: { 'mcp.service': { public_tool: true } } },
];
const NAMES = TOOLS.map(({ name }) => name);

let app: Tenant;
let upstream: ScriptedServer;
let connection: string;
/** Closed to callers without a credential. */
let closed: string;
/** With `read` of both connections, and `write` of the first, which it calls only after an approval. */
let agent: string;
/** With the agent inside. */
let outer: string;
let keys: Record<string, { id: string; key: string }>;
let person: { id: string; email: string };

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
    return sendResult(response, message, { content: [{ type: 'text', text: 'called' }] });
  });
  upstream = await startScripted(script);
  app = await newTenant();
  connection = await connectTo(app, upstream.url, { title: 'Alpha' });
  closed = await connectTo(app, upstream.url, { title: 'Beta', public_tools: 'ignore' });
  for (const id of [connection, closed]) await succeed(app, 'CONNECTION_TEST', { id });
  const first = { connection_id: connection, selected_tools: ['read', 'write'], prefix: 'one', approval: ['write'] };
  agent = await agentOf(app, [first, { connection_id: closed, selected_tools: ['read'], prefix: 'two' }]);
  outer = await agentOf(app, [agent], { title: 'Outer' });
  keys = {
    everything: await addKey(app, { name: 'everything' }),
    nothing: await addKey(app, { name: 'nothing', permissions: { self: ['RUN_GET'] } }),
    one: await addKey(app, { name: 'one', permissions: { [connection]: ['read'] } }),
    anywhere: await addKey(app, { name: 'anywhere', permissions: { '*': ['write'] } }),
    agent: await addKey(app, { name: 'agent', permissions: { [agent]: ['*'] } }),
    outer: await addKey(app, { name: 'outer', permissions: { [outer]: ['*'] } }),
  };
  person = await addMember('member');
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

async function addMember(role: string): Promise<{ id: string; email: string }> {
  const id = newId();
  const email = `${id}@example.com`;
  await app.query('INSERT INTO users (id, email, name) VALUES ($1, $2, $2)', [id, email]);
  await app.query(
    'INSERT INTO members (id, organization_id, user_id, role) SELECT $1, id, $2, $3 FROM organizations WHERE slug = $4',
    [newId(), id, role, app.org],
  );
  return { id, email };
}

const ofKey = (name: string): Promise<AccessOfCaller> =>
  succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', { api_key_id: keys[name]?.id });

const toTool = (connection_id: string, tool_name: string, more: object = {}): Promise<AccessToTool> =>
  succeed<AccessToTool>(app, 'ACCESS_TO_TOOL', { connection_id, tool_name, ...more });

/** Where each tool can be called, under its name there. */
async function places(): Promise<{ target: string; path: string; tools: AccessTools['items'] }[]> {
  const targets = [connection, closed, agent, outer];
  return Promise.all(
    targets.map(async (target) => ({
      target,
      path: target === connection || target === closed ? pathOf(app, target) : gatewayPath(app, target),
      tools: (await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', { connection_id: target })).items,
    })),
  );
}

describe('what a key can do', () => {
  it.each(['everything', 'nothing', 'one', 'anywhere', 'agent', 'outer'])(
    'is what calls with the key "%s" show',
    async (name) => {
      const { id, key } = keys[name] as { id: string; key: string };
      const counted = (await ofKey(name)).items;
      for (const { target, path, tools } of await places()) {
        const { items } = await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', {
          connection_id: target,
          api_key_id: id,
        });
        const called: string[] = [];
        for (const tool of tools) {
          const { status } = await callThrough(app, path, tool.name, {}, key);
          if (status === 200) called.push(tool.name);
        }
        const callable = items.filter((tool) => tool.callable).map((tool) => tool.name);
        expect(callable).toEqual(called);
        expect(counted.find((item) => item.id === target)?.callable ?? 0).toBe(called.length);
      }
    },
  );

  it('includes the agents that it can run, with their approvals, and its management tools', async () => {
    const { items, management_tools: management, caller } = await ofKey('nothing');
    expect(caller).toEqual({ type: 'key', id: keys['nothing']?.id, name: 'nothing', active: true });
    expect(management).toEqual(['RUN_GET']);
    expect(items.filter(({ run }) => run === true).map(({ id, approvals }) => [id, approvals])).toEqual([
      [agent, 1],
      [outer, 1],
    ]);
  });

  it('follows run_access of the organization', async () => {
    await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'granted' });
    try {
      expect((await ofKey('one')).items.map(({ id, run }) => [id, run])).toEqual([
        [agent, false],
        [connection, null],
        [outer, false],
      ]);
      expect((await ofKey('agent')).items.find(({ id }) => id === agent)?.run).toBe(true);
      const { items } = await succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', { user_id: person.id });
      expect(items.some(({ run }) => run === true)).toBe(false);
    } finally {
      await succeed(app, 'ORGANIZATION_UPDATE', { run_access: 'members' });
    }
  });

  it('is paged by connections, and can be filtered as they are', async () => {
    const first = await succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', {
      api_key_id: keys['everything']?.id,
      limit: 3,
    });
    expect(first.items.map(({ title }) => title)).toEqual(['Agent', 'Alpha', 'Beta']);
    const second = await succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', {
      api_key_id: keys['everything']?.id,
      limit: 3,
      cursor: first.nextCursor,
    });
    expect([first.totalCount, second.hasMore, second.items.map(({ id }) => id)]).toEqual([4, false, [outer]]);
    const found = await succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', {
      api_key_id: keys['everything']?.id,
      where: { field: ['title'], operator: 'contains', value: 'eta' },
    });
    expect(found.items.map(({ id }) => id)).toEqual([closed]);
  });

  it('is nothing for an expired key', async () => {
    const { id } = await addKey(app, { name: 'expired' });
    await app.query(`UPDATE api_keys SET expires_at = now() - interval '1 minute' WHERE id = $1`, [id]);
    const access = await succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', { api_key_id: id });
    expect([access.caller.active, access.items, access.management_tools]).toEqual([false, [], []]);
  });
});

describe('what a person can do', () => {
  it('is what the role and the organization grant', async () => {
    const ask = () => succeed<AccessOfCaller>(app, 'ACCESS_OF_CALLER', { user_id: person.id });
    const before = await ask();
    expect(before.caller).toEqual({ type: 'person', id: person.id, name: person.email, active: true });
    expect(before.items.find(({ id }) => id === closed)).toBeUndefined();
    await succeed(app, 'ORGANIZATION_UPDATE', { member_permissions: { [closed]: ['read', 'write'] } });
    expect((await ask()).items.find(({ id }) => id === closed)?.callable).toBe(2);
    await succeed(app, 'ORGANIZATION_UPDATE', { member_permissions: {} });
  });
});

describe('who can call a tool', () => {
  it('names each way, by which calls succeed', async () => {
    for (const name of NAMES) {
      const answer = await toTool(connection, name);
      for (const { id, key } of Object.values(keys)) {
        const item = answer.items.find((one) => one.id === id);
        expect(item?.direct).toBe((await callThrough(app, pathOf(app, connection), name, {}, key)).status === 200);
        for (const { id: through, tool_name: there } of answer.agents) {
          const { status } = await callThrough(app, gatewayPath(app, through), there, {}, key);
          expect(item?.agents.includes(through)).toBe(status === 200);
        }
      }
    }
  });

  it('knows the agents that have it, by their name for it, with approvals', async () => {
    const { agents, ...tool } = await toTool(connection, 'write');
    expect(agents.map(({ id, approval }) => [id, approval])).toEqual([
      [agent, true],
      [outer, true],
    ]);
    const there = agents[0]?.tool_name ?? '';
    expect(await toTool(agent, there)).toEqual({ agents, ...tool });
    expect([tool.connection_id, tool.tool_name, tool.public]).toEqual([connection, 'write', false]);
    expect((await toTool(connection, 'open')).public).toBe(true);
    expect((await toTool(closed, 'open')).public).toBe(false);
  });

  it('is paged', async () => {
    const whole = await toTool(connection, 'read');
    const page = await toTool(connection, 'read', { limit: 2, offset: 1 });
    expect(page.items).toEqual(whole.items.slice(1, 3));
    expect([page.totalCount, page.hasMore]).toEqual([whole.items.length, true]);
    expect((await toTool(connection, 'read', { offset: 1_000_000 })).items).toEqual([]);
  });
});

describe('the graph', () => {
  it('has everything with what reaches it, and the traffic on each way', async () => {
    const { key = '', id = '' } = keys['agent'] ?? {};
    const { tools } = (await places())[2] as { tools: AccessTools['items'] };
    const name = tools.find(({ upstream_name: own, connection_id: of }) => own === 'write' && of === connection)?.name;
    await callThrough(app, gatewayPath(app, agent), name ?? '', {}, key);
    const colleague = await addMember('member');
    const graph = await succeed<AccessGraph>(app, 'ACCESS_GRAPH', {});
    expect(graph.nodes.map(({ id: node, tools: count }) => [node, count])).toEqual([
      [agent, null],
      [connection, 3],
      [closed, 3],
      [outer, null],
    ]);
    expect(graph.uses).toEqual(
      expect.arrayContaining([
        { agent_id: agent, connection_id: connection, tools: 2, approval: 'some' },
        { agent_id: agent, connection_id: closed, tools: 1, approval: 'none' },
        { agent_id: outer, connection_id: agent, tools: null, approval: 'none' },
      ]),
    );
    const indexOf = (wanted: string) => graph.callers.find((caller) => caller.name === wanted)?.reach ?? -1;
    const callsOf = (wanted: string) => graph.reaches[indexOf(wanted)]?.calls;
    expect(callsOf('everything')).toEqual({ all: true, ids: [] });
    expect(callsOf('nothing')).toEqual({ all: false, ids: [] });
    expect(callsOf('one')).toEqual({ all: false, ids: [agent, connection, outer] });
    expect(callsOf('agent')).toEqual({ all: false, ids: [agent, outer] });
    expect(graph.reaches[indexOf(person.email)]?.runs).toEqual({ all: true, ids: [] });
    expect(indexOf(colleague.email)).toBe(indexOf(person.email));
    const way = graph.traffic.find(({ api_key_id: by, agent_id: through }) => by === id && through === agent);
    expect(way).toMatchObject({ connection_id: connection, errors: 0, approvals_requested: 0 });
    expect(way?.calls).toBeGreaterThan(0);
    expect(graph.truncated).toBe(false);
    const empty = await succeed<AccessGraph>(app, 'ACCESS_GRAPH', {
      from: '2020-01-01T00:00:00Z',
      to: '2020-01-02T00:00:00Z',
    });
    expect(empty.traffic).toEqual([]);
  });
});

describe('who may ask', () => {
  const ASKED = ['ACCESS_OF_CALLER', 'ACCESS_TO_TOOL', 'ACCESS_TOOLS_LIST', 'ACCESS_GRAPH'];

  it.each(ASKED)('%s needs the permission of its name', async (name) => {
    const { status } = await app.tool(name, {}, keys['anywhere']?.key);
    expect(status).toBe(403);
  });

  it('finds nothing of another organization', async () => {
    const other = await startSecondOrganization(app, 'elsewhere');
    const bodies: [string, object][] = [
      ['ACCESS_OF_CALLER', { api_key_id: keys['one']?.id }],
      ['ACCESS_OF_CALLER', { user_id: person.id }],
      ['ACCESS_TO_TOOL', { connection_id: connection, tool_name: 'read' }],
      ['ACCESS_TOOLS_LIST', { connection_id: agent }],
    ];
    for (const [name, body] of bodies) expect((await other.tool(name, body)).status).toBe(404);
    const { body } = await other.tool('ACCESS_GRAPH', {});
    expect([body.nodes, body.uses, body.traffic]).toEqual([[], [], []]);
    const callers = new Set((body as AccessGraph).callers.map(({ id }) => id));
    const own = [person.id, ...Object.values(keys).map(({ id }) => id)];
    expect(own.filter((id) => callers.has(id))).toEqual([]);
  });

  it('finds tools of all connections by a part of their name, and none of another organization', async () => {
    const found = await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', { search: 'REA' });
    expect(found.items).toContainEqual(expect.objectContaining({ name: 'read', connection_id: connection }));
    expect(found.items.every(({ name }) => name.includes('rea'))).toBe(true);
    expect(found.totalCount).toBe(found.items.length);
    const first = await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', { search: 'rea', limit: 1 });
    expect(first.items).toEqual(found.items.slice(0, 1));
    const other = await startSecondOrganization(app, 'searched');
    for (const search of ['rea', '%%', '__', `'"\\`]) {
      expect((await other.tool('ACCESS_TOOLS_LIST', { search })).body.items).toEqual([]);
    }
  });

  it('finds, composes and deletes tools whose names and texts PostgreSQL cannot decode', async () => {
    const offered = ['rea\0l', '\ud800', 'say "read"'].map((name) => ({ ...TOOLS[0], name, description: '\0\ud800' }));
    const { script } = legacyServer(({ message }, response) => sendResult(response, message, { tools: offered }));
    const server = await startScripted(script);
    const hostile = await connectTo(app, server.url, { title: 'Hostile' });
    await succeed(app, 'CONNECTION_TEST', { id: hostile });
    const agentOfHostile = await agentOf(app, [hostile]);
    const composed = await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', { connection_id: agentOfHostile });
    expect(composed.items).toHaveLength(offered.length);
    for (const [search, name] of [
      ['read', 'say "read"'],
      ['y "r', 'say "read"'],
      ['rea', 'rea\ufffdl'],
    ]) {
      const found = await succeed<AccessTools>(app, 'ACCESS_TOOLS_LIST', { search });
      expect(found.items).toContainEqual(expect.objectContaining({ name, connection_id: hostile }));
    }
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id: hostile });
    await server.close();
  });

  it('deletes a connection whose stored list PostgreSQL cannot decode', async () => {
    const old = await connectTo(app, upstream.url, { title: 'Old' });
    await app.query(`UPDATE connections SET tools = '[{"name":"\\u0000"}]' WHERE id = $1`, [old]);
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id: old });
  });

  it('refuses what is no question', async () => {
    const bad: [string, object][] = [
      ['ACCESS_OF_CALLER', {}],
      ['ACCESS_OF_CALLER', { api_key_id: keys['one']?.id, user_id: person.id }],
      ['ACCESS_OF_CALLER', { api_key_id: keys['one']?.id, where: { field: ['secret'], operator: 'eq', value: 1 } }],
      ['ACCESS_TO_TOOL', { connection_id: connection }],
      ['ACCESS_TOOLS_LIST', { connection_id: connection, limit: 0 }],
      ['ACCESS_TOOLS_LIST', {}],
      ['ACCESS_TOOLS_LIST', { search: 'r' }],
      ['ACCESS_TOOLS_LIST', { search: 'read', connection_id: 'everywhere' }],
      ['ACCESS_GRAPH', { from: 'yesterday' }],
    ];
    for (const [name, body] of bad) expect([name, (await app.tool(name, body)).status]).toEqual([name, 400]);
    expect((await app.tool('ACCESS_TO_TOOL', { connection_id: connection, tool_name: 'none' })).status).toBe(404);
  });
});
