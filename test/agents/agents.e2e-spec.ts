import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { AgentsService } from '../../src/agents/records/agents.service.js';
import { OrganizationsService } from '../../src/identity/organizations/organizations.service.js';
import { startTestApp } from '../support/app.js';
import { startSecondOrganization } from '../support/second-organization.js';

/** Port 9 (discard) answers nowhere on a test machine. */
const DEAD_URL = 'http://127.0.0.1:9/mcp';

interface Item {
  id: string;
  [field: string]: unknown;
}

let service: Awaited<ReturnType<typeof startTestApp>>;
let organizationId: string;

beforeAll(async () => {
  service = await startTestApp();
  organizationId = (await service.app.get(OrganizationsService, { strict: false }).ensure(service.org)).id;
});
afterAll(() => service?.close());

async function call<T>(name: string, body: object): Promise<T> {
  const answer = await service.tool(name, body);
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as T;
}

async function connect(title: string, url = DEAD_URL, more: object = {}): Promise<string> {
  const data = { connection_type: 'HTTP', title, connection_url: url, ...more };
  return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

async function create(data: object = {}): Promise<Item> {
  return (await call<{ item: Item }>('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', ...data } })).item;
}

async function update(id: string, data: object): Promise<Item> {
  return (await call<{ item: Item }>('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data })).item;
}

async function get(id: string): Promise<Item> {
  return (await call<{ item: Item }>('COLLECTION_VIRTUAL_MCP_GET', { id })).item;
}

function holding(...ids: string[]): { connection_id: string }[] {
  return ids.map((id) => ({ connection_id: id }));
}

describe('COLLECTION_VIRTUAL_MCP', () => {
  it('creates with defaults, as a connection of type VIRTUAL', async () => {
    const item = await create();
    expect(item).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: 'Agent',
      slug: 'agent',
      description: null,
      instructions: null,
      tier: null,
      history: { max_messages: 200, max_tokens: 100_000 },
      approval_timeout: 86_400,
      spend: null,
      tool_mode: 'all',
      pinned_tools: [],
      output_schema: null,
      webhook_output: false,
      expose_run: false,
      ask_timeout_s: 600,
      max_steps: 20,
      status: 'active',
      tool_count: 0,
      connections: [],
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await get(item.id)).toEqual(item);
    const connection = await call<{ item: Item }>('COLLECTION_CONNECTIONS_GET', { id: item.id });
    expect(connection.item).toMatchObject({ connection_type: 'VIRTUAL', title: 'Agent', connection_url: null });
  });

  it('keeps its connections in their order, and replaces them whole', async () => {
    const [a, b, c] = [await connect('A'), await connect('B'), await connect('C')];
    const connections = [
      { connection_id: c, selected_tools: ['x', 'y'], prefix: 'sea', approval: ['x'] },
      { connection_id: a, selected_tools: null, prefix: null, approval: 'destructive' },
      { connection_id: b, selected_tools: [], prefix: null, approval: 'none' },
    ];
    const { id } = await create({ connections });
    expect(await get(id)).toMatchObject({ connections });
    expect(await update(id, { title: 'Renamed' })).toMatchObject({ title: 'Renamed', connections });
    const next = [{ connection_id: a.toUpperCase() }];
    const expected = [{ connection_id: a, selected_tools: null, prefix: null, approval: 'none' }];
    expect((await update(id, { connections: next }))['connections']).toEqual(expected);
    expect((await update(id, { connections: [] }))['connections']).toEqual([]);
  });

  it('changes the given properties and clears those that are null', async () => {
    const settings = { description: 'Text', instructions: 'Be brief.', tier: 'fast', max_steps: 5, status: 'inactive' };
    const item = await create(settings);
    expect(item).toMatchObject(settings);
    expect(await update(item.id, {})).toMatchObject(settings);
    const cleared = { description: null, instructions: null, tier: null };
    expect(await update(item.id, cleared)).toMatchObject({ ...cleared, max_steps: 5, status: 'inactive' });
    expect(await update(item.id, { status: 'active', max_steps: 100 })).toMatchObject({
      status: 'active',
      max_steps: 100,
    });
  });

  it('takes instructions where it has none, from several editors at once too', async () => {
    const { id } = await create({ instructions: null });
    await update(id, { instructions: null });
    await Promise.all([update(id, { instructions: 'Be brief.' }), update(id, { instructions: 'Be brief.' })]);
    expect(await get(id)).toMatchObject({ instructions: 'Be brief.' });
  });

  it('is edited as a connection in what it shares with one', async () => {
    const { id } = await create();
    const shared = { title: 'Renamed', description: 'Text', status: 'inactive' };
    await call('COLLECTION_CONNECTIONS_UPDATE', { id, data: shared });
    expect(await get(id)).toMatchObject(shared);
    const data = { title: 'Again', connection_url: DEAD_URL, timeout: 1000 };
    const answer = await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expect(answer.body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path: 'data.connection_url' }, { path: 'data.timeout' }],
    });
    expect(await get(id)).toMatchObject(shared);
  });

  it('lists agents and nothing else', async () => {
    const title = `Listed ${randomUUID()}`;
    await connect(title);
    const member = await connect('Member');
    const connections = [{ connection_id: member, selected_tools: ['x'], prefix: null }];
    const first = await create({ title, instructions: 'Be brief.', connections });
    const second = await create({ title });
    const where = { field: ['title'], operator: 'eq', value: title };
    expect(await call('COLLECTION_VIRTUAL_MCP_LIST', { where })).toEqual({
      items: [first, second],
      totalCount: 2,
      hasMore: false,
      nextCursor: null,
    });
    expect(await call('COLLECTION_CONNECTIONS_LIST', { where })).toMatchObject({ totalCount: 3 });
    const using = await call('COLLECTION_VIRTUAL_MCP_LIST', { connection_id: member });
    expect(using).toMatchObject({ items: [{ id: first.id }], totalCount: 1 });
  });

  it.each(['COLLECTION_VIRTUAL_MCP_DELETE', 'COLLECTION_CONNECTIONS_DELETE'])('is gone after %s', async (name) => {
    const member = await connect('Member');
    const { id } = await create({ connections: holding(member) });
    expect(await call(name, { id })).toMatchObject({ item: { id } });
    for (const tool of ['COLLECTION_VIRTUAL_MCP_GET', 'COLLECTION_VIRTUAL_MCP_DELETE', 'COLLECTION_CONNECTIONS_GET']) {
      expect((await service.tool(tool, { id })).body).toMatchObject({ status: 404, code: 'not_found' });
    }
    await call('COLLECTION_CONNECTIONS_GET', { id: member });
  });

  it('loses a connection that is deleted', async () => {
    const [a, b] = [await connect('A'), await connect('B')];
    const { id } = await create({ connections: holding(a, b) });
    await call('COLLECTION_CONNECTIONS_DELETE', { id: a });
    expect(await get(id)).toMatchObject({ connections: holding(b) });
  });

  it('survives deletions and edits at the same time', async () => {
    const [a, b, c] = [await connect('A'), await connect('B'), await connect('C')];
    const { id } = await create({ connections: holding(a, b) });
    const answers = await Promise.all([
      service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections: holding(b, a, c) } }),
      service.tool('COLLECTION_CONNECTIONS_DELETE', { id: a }),
      service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections: holding(c, b) } }),
      service.tool('COLLECTION_CONNECTIONS_DELETE', { id: b }),
    ]);
    for (const { status } of answers) expect([200, 404]).toContain(status);
    expect(JSON.stringify(await get(id))).not.toMatch(new RegExp(`${a}|${b}`));
  });

  it('accepts no connection of another organization, and is not visible to it', async () => {
    const other = await startSecondOrganization(service, 'other');
    const data = { connection_type: 'HTTP', title: 'Theirs', connection_url: DEAD_URL };
    const created = await other.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    const connections = holding(await connect('Ours'), (created.body as { item: Item }).item.id);
    const fault = { status: 404, code: 'not_found', errors: [{ path: 'data.connections[1].connection_id' }] };
    const refused = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'x', connections } });
    expect(refused.body).toMatchObject(fault);

    const { id } = await create();
    expect((await service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } })).body).toMatchObject(
      fault,
    );
    for (const [name, body] of [
      ['GET', { id }],
      ['UPDATE', { id, data: { title: 'Theirs' } }],
      ['DELETE', { id }],
    ] as const) {
      const answer = await other.tool(`COLLECTION_VIRTUAL_MCP_${name}`, body);
      expect(answer.body).toMatchObject({ status: 404, code: 'not_found' });
    }
    const agents = service.app.get(AgentsService, { strict: false });
    expect(await agents.findForRun(other.id, id)).toBeUndefined();
    expect(await agents.findForRun(organizationId, 'no-uuid')).toBeUndefined();
    expect(await agents.findForRun(organizationId, await connect('HTTP'))).toBeUndefined();
  });

  const id = randomUUID();
  it.each<[string, object, string]>([
    ['no title', { title: undefined }, 'data.title'],
    ['a title of null', { title: null }, 'data.title'],
    ['instructions with NUL', { instructions: 'a\u0000' }, 'data.instructions'],
    ['long instructions', { instructions: 'a'.repeat(100_001) }, 'data.instructions'],
    ['an unknown tier', { tier: 'best' }, 'data.tier'],
    ['no steps', { max_steps: 0 }, 'data.max_steps'],
    ['many steps', { max_steps: 101 }, 'data.max_steps'],
    ['steps of null', { max_steps: null }, 'data.max_steps'],
    ['the status error', { status: 'error' }, 'data.status'],
    ['connections of null', { connections: null }, 'data.connections'],
    [
      'many connections',
      { connections: holding(...Array.from({ length: 101 }, () => randomUUID())) },
      'data.connections',
    ],
    ['a connection twice', { connections: holding(id, id.toUpperCase()) }, 'data.connections'],
    ['a connection that is text', { connections: [id] }, 'data.connections[0]'],
    ['a connection id that is none', { connections: holding('x') }, 'data.connections[0].connection_id'],
    [
      'a tool twice',
      { connections: [{ connection_id: id, selected_tools: ['a', 'a'] }] },
      'data.connections[0].selected_tools',
    ],
    [
      'a tool with NUL',
      { connections: [{ connection_id: id, selected_tools: ['\u0000'] }] },
      'data.connections[0].selected_tools[0]',
    ],
    [
      'half a character',
      { connections: [{ connection_id: id, selected_tools: ['\ud800'] }] },
      'data.connections[0].selected_tools[0]',
    ],
    ['a prefix in upper case', { connections: [{ connection_id: id, prefix: 'Up' }] }, 'data.connections[0].prefix'],
    ['an empty prefix', { connections: [{ connection_id: id, prefix: '' }] }, 'data.connections[0].prefix'],
    ['a long prefix', { connections: [{ connection_id: id, prefix: 'a'.repeat(33) }] }, 'data.connections[0].prefix'],
    ['an unknown property', { connections: [{ connection_id: id, tools: [] }] }, 'data.connections[0].tools'],
  ])('refuses %s', async (_name, change, path) => {
    const answer = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Refused', ...change } });
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.body.errors.map((fault: { path: string }) => fault.path)).toContain(path);
  });
});

describe('cycles among agents', () => {
  it('are refused, however long', async () => {
    const a = await create({ title: 'A' });
    const b = await create({ title: 'B', connections: holding(a.id) });
    const c = await create({ title: 'C', connections: holding(b.id, a.id) });
    for (const id of [a.id, b.id, c.id]) {
      const answer = await service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', {
        id: a.id,
        data: { title: 'Never', connections: holding(id) },
      });
      expect(answer.body).toMatchObject({ status: 409, code: 'agent_cycle', errors: [{ path: 'data.connections' }] });
    }
    expect(await get(a.id)).toEqual(a);
  });

  it.each([2, 3])('are refused when %i agents close them at once, however often', async (size) => {
    const rounds = await Promise.all(
      Array.from({ length: 20 }, () => Promise.all(Array.from({ length: size }, () => create()))),
    );
    for (const agents of rounds) {
      const answers = await Promise.all(
        agents.map(({ id }, index) => {
          const next = agents[(index + 1) % size] as Item;
          return service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections: holding(next.id) } });
        }),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array<number>(size - 1).fill(200), 409]);
      const stored = await Promise.all(agents.map(({ id }) => get(id)));
      const refused = answers.findIndex(({ status }) => status === 409);
      expect(stored.map((agent) => (agent['connections'] as object[]).length)).toEqual(
        agents.map((_, index) => (index === refused ? 0 : 1)),
      );
    }
  });
});
