import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { expectProblem } from '../support/problem.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { Upstreams } from '../support/upstreams.js';

interface Version {
  readonly number: number;
  readonly changed?: string[];
  readonly restored_from: number | null;
  readonly api_key_id: string | null;
  readonly user_id: string | null;
}

let tenant: Tenant;
let other: Tenant;
const upstreams = new Upstreams();
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});
afterAll(async () => {
  await upstreams.close();
  await tenant?.close();
  await other?.close();
});

const call = <T>(name: string, body: object): Promise<T> => succeed(tenant, name, body) as Promise<T>;

async function connect(title: string, url = 'http://127.0.0.1:9/mcp'): Promise<string> {
  const data = { connection_type: 'HTTP', title, connection_url: url };
  return (await call<{ item: { id: string } }>('COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

async function create(data: object): Promise<string> {
  const body = { data: { title: 'Agent', ...data } };
  return (await call<{ item: { id: string } }>('COLLECTION_VIRTUAL_MCP_CREATE', body)).item.id;
}

const update = (id: string, data: object): Promise<unknown> => call('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data });

async function versionsOf(id: string): Promise<Version[]> {
  return (await call<{ items: Version[] }>('AGENT_VERSIONS_LIST', { id })).items;
}

describe('versions of an agent', () => {
  it('say who changed what, and leave out what changes nothing', async () => {
    const id = await create({ instructions: 'Be brief.' });
    await update(id, { instructions: 'Be brief.\nBe kind.', max_steps: 5 });
    await update(id, { max_steps: 5 });
    await update(id, { status: 'inactive', spend: { usd_per_day: 2 }, slug: 'another-name' });
    const versions = await versionsOf(id);
    expect(versions).toMatchObject([
      { number: 2, changed: ['instructions', 'max_steps'], restored_from: null },
      { number: 1, changed: [], restored_from: null },
    ]);
    const [{ id: keyId }] = (await call<{ items: [{ id: string }] }>('API_KEY_LIST', {})).items;
    expect(versions.map((version) => version.api_key_id)).toEqual([keyId, keyId]);
    const { item } = await call<{ item: object }>('AGENT_VERSION_GET', { id, number: 1 });
    expect(item).toMatchObject({ number: 1, content: { instructions: 'Be brief.', max_steps: 20, connections: [] } });
    expect(Object.keys((item as { content: object }).content)).not.toContain('spend');
  });

  it('are taken back, without connections that were deleted since, and without a change of status and limits', async () => {
    const [kept, deleted] = [await connect('Kept'), await connect('Deleted')];
    const connections = [
      { connection_id: deleted },
      { connection_id: kept, selected_tools: ['read'], approval: 'all' },
    ];
    const id = await create({ instructions: 'First', connections, output_schema: { type: 'object', title: 'A' } });
    await update(id, { instructions: 'Second', connections: [{ connection_id: deleted }], output_schema: null });
    await update(id, { status: 'inactive', spend: { usd_per_day: 2 } });
    await call('COLLECTION_CONNECTIONS_DELETE', { id: deleted });
    const restored = await call<object>('AGENT_VERSION_RESTORE', { id, number: 1 });
    expect(restored).toMatchObject({
      missing_connections: [deleted],
      item: {
        instructions: 'First',
        output_schema: { type: 'object', title: 'A' },
        connections: [{ connection_id: kept, selected_tools: ['read'], approval: 'all' }],
        status: 'inactive',
        spend: { usd_per_day: 2 },
      },
    });
    const versions = await versionsOf(id);
    expect(versions).toMatchObject([
      { number: 4, restored_from: 1 },
      // Nobody changed the agent when the connection was deleted.
      { number: 3, changed: ['connections'], api_key_id: null, user_id: null },
      { number: 2 },
      { number: 1 },
    ]);
    // Again, it changes nothing.
    await call('AGENT_VERSION_RESTORE', { id, number: 1 });
    expect(await versionsOf(id)).toEqual(versions);
  });

  it('follow one another when several people edit at once', async () => {
    const id = await create({});
    const steps = [1, 2, 3, 4, 5, 6];
    await Promise.all(steps.map((step) => update(id, { max_steps: step })));
    const numbers = (await versionsOf(id)).map(({ number }) => number);
    expect(numbers).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  it('are kept up to a hundred', async () => {
    const id = await create({});
    await tenant.query(
      `INSERT INTO agent_versions (agent_id, number, content)
       SELECT agent_id, 1 + step, content FROM agent_versions, generate_series(1, 99) AS step WHERE agent_id = $1`,
      [id],
    );
    await update(id, { max_steps: 7 });
    const numbers = (await versionsOf(id)).map(({ number }) => number);
    expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([100, 101, 2]);
  });

  it('need the rights of an update to be taken back', async () => {
    const bank = await connect('Bank');
    const id = await create({ instructions: 'Pay nobody.', connections: [{ connection_id: bank }] });
    await update(id, { instructions: 'Ask first.' });
    const self = ['AGENT_VERSION_RESTORE', 'AGENT_VERSIONS_LIST'];
    const { body } = await tenant.tool('API_KEY_CREATE', { name: 'editor', permissions: { self } }).expect(200);
    expectProblem(await tenant.tool('AGENT_VERSION_RESTORE', { id, number: 1 }, body.key), 403, 'permission_widening');
    expectProblem(await tenant.tool('AGENT_VERSION_GET', { id, number: 1 }, body.key), 403, 'permission_denied');
    expect(await versionsOf(id)).toHaveLength(2);
  });

  it('are found only in the organization, and by numbers that there are', async () => {
    const id = await create({});
    for (const name of ['AGENT_VERSION_GET', 'AGENT_VERSION_RESTORE']) {
      expectProblem(await other.tool(name, { id, number: 1 }), 404, 'not_found');
      expectProblem(await tenant.tool(name, { id, number: 2 }), 404, 'not_found');
      for (const number of [0, 1.5, '1', 2 ** 31]) {
        expectProblem(await tenant.tool(name, { id, number }), 400, 'invalid_request');
      }
    }
    expectProblem(await other.tool('AGENT_VERSIONS_LIST', { id }), 404, 'not_found');
  });
});

describe('the number of tools', () => {
  it('is that of the last list for a connection, and of the selections for an agent', async () => {
    const server = await upstreams.serve('a', 'b', 'c');
    const [listed, silent] = [await connect('Listed', server.url), await connect('Silent')];
    await call('CONNECTION_TEST', { id: listed });
    const inner = await create({ connections: [{ connection_id: listed }] });
    const second = await create({ title: 'Second', connections: [{ connection_id: listed }] });
    const outer = await create({
      connections: [{ connection_id: inner }, { connection_id: silent, selected_tools: ['x', 'y'] }],
    });
    const widest = await create({
      connections: [{ connection_id: inner }, { connection_id: second }, { connection_id: outer }],
    });
    const where = { field: ['id'], operator: 'in', value: [listed, silent, inner, outer, widest] };
    const countsOf = async (name: string): Promise<Record<string, unknown>> => {
      const { items } = await call<{ items: { id: string; tool_count: unknown }[] }>(name, { where });
      return Object.fromEntries(items.map(({ id, tool_count: count }) => [id, count]));
    };
    expect(await countsOf('COLLECTION_CONNECTIONS_LIST')).toMatchObject({ [listed]: 3, [silent]: null, [inner]: null });
    expect(await countsOf('COLLECTION_VIRTUAL_MCP_LIST')).toEqual({ [inner]: 3, [outer]: 5, [widest]: 8 });
  });
});
