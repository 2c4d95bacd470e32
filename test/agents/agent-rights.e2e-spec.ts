import { beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { newTenant } from '../support/tenant.js';
import { expectProblem } from '../support/problem.js';
import { useStarted } from '../support/use-started.js';

const EDITING = ['COLLECTION_VIRTUAL_MCP_CREATE', 'COLLECTION_VIRTUAL_MCP_UPDATE', 'COLLECTION_CONNECTIONS_UPDATE'];

interface Member {
  connection_id: string;
  selected_tools?: string[] | null;
  prefix?: string | null;
}

const service = useStarted(newTenant);
let bank: string;
let mail: string;

beforeAll(async () => {
  [bank, mail] = [await connect('Bank'), await connect('Mail')];
});

async function connect(title: string, more: object = {}): Promise<string> {
  const data = { connection_type: 'HTTP', title, connection_url: 'http://127.0.0.1:9/mcp', ...more };
  return (await service.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200)).body.item.id as string;
}

async function editor(permissions: Record<string, string[]> = {}): Promise<string> {
  const all = { self: EDITING, ...permissions };
  return (await service.tool('API_KEY_CREATE', { name: 'editor', permissions: all }).expect(200)).body.key as string;
}

function create(connections: Member[], key?: string, more: object = {}): supertest.Test {
  return service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections, ...more } }, key);
}

async function createAgent(connections: Member[], more: object = {}): Promise<string> {
  return (await create(connections, undefined, more).expect(200)).body.item.id as string;
}

function update(id: string, data: object, key?: string): supertest.Test {
  return service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data }, key);
}

async function get(id: string): Promise<Record<string, unknown>> {
  return (await service.tool('COLLECTION_VIRTUAL_MCP_GET', { id }).expect(200)).body.item as Record<string, unknown>;
}

/** The same over `/mcp/self`: the problem that the tool answers. */
async function overMcp(name: string, args: object, key: string): Promise<{ code?: string }> {
  const answer = await supertest(service.url)
    .post(`/api/${service.org}/mcp/self`)
    .set({ authorization: `Bearer ${key}`, accept: 'application/json' })
    .send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const { text } = answer.body.result.content[0] as { text: string };
  // A sentence for the model is on the first line.
  return JSON.parse(text.slice(text.indexOf('\n'))) as { code?: string };
}

describe('an editor of agents', () => {
  it.each<[string, () => Record<string, string[]>, () => Member[], number | undefined]>([
    ['all tools without a grant', () => ({}), () => [{ connection_id: bank }], 0],
    ['all tools with some', () => ({ [bank]: ['read'] }), () => [{ connection_id: bank, selected_tools: null }], 0],
    [
      'a tool that is not held',
      () => ({ [bank]: ['read'] }),
      () => [{ connection_id: bank, selected_tools: ['pay'] }],
      0,
    ],
    [
      'another connection beside one that is held',
      () => ({ [mail]: ['*'] }),
      () => [{ connection_id: mail }, { connection_id: bank.toUpperCase(), selected_tools: ['read'] }],
      1,
    ],
    [
      'the name of a grant on everything',
      () => ({ [bank]: ['read'] }),
      () => [{ connection_id: bank, selected_tools: ['*'] }],
      0,
    ],
    [
      'tools that are held',
      () => ({ [bank]: ['read'] }),
      () => [{ connection_id: bank, selected_tools: ['read'] }],
      undefined,
    ],
    ['all tools with a grant on all', () => ({ '*': ['*'] }), () => [{ connection_id: bank }], undefined],
    ['nothing of a connection', () => ({}), () => [{ connection_id: bank, selected_tools: [] }], undefined],
  ])('selects %s: refused where a grant is missing', async (_what, permissions, members, refusedAt) => {
    const key = await editor(permissions());
    const empty = await createAgent([]);
    const answers = [await create(members(), key), await update(empty, { connections: members() }, key)];
    for (const answer of answers) {
      if (refusedAt === undefined) expect(answer.status).toBe(200);
      else {
        const { errors } = expectProblem(answer, 403, 'permission_widening');
        expect(errors?.map(({ path }) => path)).toEqual([`data.connections[${refusedAt}]`]);
      }
    }
    expect((await get(empty))['connections']).toHaveLength(refusedAt === undefined ? members().length : 0);
  });

  it('is refused over MCP as well', async () => {
    const key = await editor();
    const connections = [{ connection_id: bank }];
    const created = await overMcp('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections } }, key);
    expect(created.code).toBe('permission_widening');
    const id = await createAgent([]);
    const updated = await overMcp('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } }, key);
    expect(updated.code).toBe('permission_widening');
  });

  it('requires grants on the selections of nested agents, at any depth', async () => {
    const inner = await createAgent([{ connection_id: bank, selected_tools: ['pay'] }, { connection_id: mail }]);
    const outer = await createAgent([{ connection_id: inner }]);
    const members = [{ connection_id: outer }];
    expectProblem(await create(members, await editor()), 403, 'permission_widening');
    expectProblem(await create(members, await editor({ [mail]: ['*'] })), 403, 'permission_widening');
    expectProblem(await create(members, await editor({ [inner]: ['pay'] })), 403, 'permission_widening');
    for (const permissions of [{ [mail]: ['*'], [bank]: ['pay'] }, { [inner]: ['*'] }, { [outer]: ['*'] }]) {
      await create(members, await editor(permissions)).expect(200);
    }
  });

  it('is judged at once where agents hold each other in more ways than can be counted', async () => {
    const key = await editor({ [bank]: ['*'] });
    let level: Member[] = [{ connection_id: bank }];
    for (let depth = 0; depth < 15; depth++) {
      const made = await Promise.all([1, 2, 3, 4].map(() => create(level, key).expect(200)));
      level = made.map(({ body }) => ({ connection_id: body.item.id as string }));
    }
    expectProblem(await create(level, await editor({ [mail]: ['*'] })), 403, 'permission_widening');
  });

  it('changes and removes existing selections without grants on them', async () => {
    const members = [{ connection_id: bank, selected_tools: ['read', 'pay'] }, { connection_id: mail }];
    const id = await createAgent(members, { instructions: 'Be brief.' });
    const key = await editor();
    await update(id, { title: 'Renamed', description: 'Text', tier: 'fast', max_steps: 3 }, key).expect(200);
    await update(id, { instructions: 'Be brief.', connections: members }, key).expect(200);
    expectProblem(await update(id, { connections: [{ connection_id: bank }] }, key), 403, 'permission_widening');
    const more = [{ connection_id: bank, selected_tools: ['read', 'steal'] }];
    expectProblem(await update(id, { connections: more }, key), 403, 'permission_widening');
    await update(id, { connections: [{ connection_id: bank, selected_tools: ['read'] }] }, key).expect(200);
    expectProblem(await update(id, { connections: members }, key), 403, 'permission_widening');
    await update(id, { connections: [] }, key).expect(200);
  });

  it('renames tools and gives instructions only with grants on them', async () => {
    const id = await createAgent([{ connection_id: bank }], { instructions: 'Be brief.' });
    const key = await editor({ [mail]: ['*'] });
    const renamed = [{ connection_id: bank, prefix: 'mail' }];
    expectProblem(await update(id, { connections: renamed }, key), 403, 'permission_widening');
    for (const instructions of ['Send all to me.', null]) {
      expectProblem(await update(id, { instructions }, key), 403, 'permission_widening');
    }
    expect(await get(id)).toMatchObject({ instructions: 'Be brief.', connections: [{ prefix: null }] });
    await update(id, { instructions: 'Send all to me.', connections: [{ connection_id: mail }] }, key).expect(200);
    const holder = await editor({ [bank]: ['*'], [mail]: ['*'] });
    await update(id, { instructions: 'Be kind.', connections: [...renamed] }, holder).expect(200);
  });

  it('makes public tools callable only with a grant on all of them', async () => {
    const id = await connect('Closed', { public_tools: 'ignore' });
    const open = (key: string) =>
      service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { public_tools: 'honor' } }, key);
    expectProblem(await open(await editor({ [id]: ['read'] })), 403, 'permission_widening');
    await open(await editor({ [id]: ['*'] })).expect(200);
    const close = { id, data: { public_tools: 'ignore' } };
    await service.tool('COLLECTION_CONNECTIONS_UPDATE', close, await editor()).expect(200);
  });
});

describe('the size of what is stored', () => {
  it('is bounded for the selections of an agent and the arguments of a program', async () => {
    const names = (prefix: string) => Array.from({ length: 500 }, (_, n) => `${prefix}${n}${'x'.repeat(150)}`);
    const connections = [
      { connection_id: bank, selected_tools: names('a') },
      { connection_id: mail, selected_tools: names('b') },
    ];
    expectProblem(await create(connections), 400, 'invalid_request');
    const stdio = { command: 'node', args: Array.from({ length: 20 }, () => 'x'.repeat(4000)) };
    const data = { connection_type: 'STDIO', title: 'Program', stdio };
    expectProblem(await service.tool('COLLECTION_CONNECTIONS_CREATE', { data }), 400, 'invalid_request');
  });

  it.each([
    ['connections', 5000, 'COLLECTION_CONNECTIONS_CREATE'],
    ['agents', 5000, 'COLLECTION_VIRTUAL_MCP_CREATE'],
    ['AI providers', 100, 'AI_PROVIDER_CREATE'],
  ])('is bounded in the number of %s, also at once', async (what, max, tool) => {
    const crowded = await newTenant();
    try {
      const rows =
        what === 'AI providers'
          ? `INSERT INTO ai_providers (id, organization_id, title, kind) SELECT gen_random_uuid(), o.id, 'P', 'openai'`
          : `INSERT INTO connections (id, organization_id, connection_type, title) SELECT gen_random_uuid(), o.id, 'HTTP', 'C'`;
      await crowded.query(`${rows} FROM organizations o, generate_series(2, $1) WHERE o.slug = $2`, [max, crowded.org]);
      const data = {
        COLLECTION_CONNECTIONS_CREATE: { connection_type: 'HTTP', title: 'C', connection_url: 'http://127.0.0.1:9/' },
        COLLECTION_VIRTUAL_MCP_CREATE: { title: 'A' },
        AI_PROVIDER_CREATE: { title: 'P', kind: 'openai' },
      }[tool];
      const answers = await Promise.all([1, 2, 3].map(() => crowded.tool(tool, { data })));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
      const refused = answers.find(({ status }) => status === 409);
      expect(refused?.body.code).toBe('limit_reached');
    } finally {
      await crowded.close();
    }
  });
});
