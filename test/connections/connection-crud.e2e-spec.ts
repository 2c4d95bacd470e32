import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { startSecondOrganization } from '../support/second-organization.js';
import { DEAD_URL, HEADER, type Item, TOKEN, useConnectionsApp } from './connections.support.js';

const connections = useConnectionsApp();
const { call, create, update, get, rowOf } = connections;

describe('COLLECTION_CONNECTIONS', () => {
  it('creates with defaults', async () => {
    const item = await create();
    expect(item).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: 'Upstream',
      description: null,
      connection_type: 'HTTP',
      connection_url: DEAD_URL,
      connection_token: null,
      auth: {
        type: 'none',
        account: 'connection',
        scope: null,
        client_id: null,
        client_secret: null,
        private_key: null,
      },
      connection_headers: null,
      stdio: null,
      timeout: 300_000,
      status: 'active',
      status_reason: null,
      status_since: expect.stringMatching(/Z$/),
      public_tools: 'honor',
      rate_limit: null,
      shared_state: false,
      pin: 'off',
      tool_count: null,
      tools_refreshed_at: null,
      import_name: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await get(item.id)).toEqual(item);
  });

  it('keeps secrets encrypted and shows only that they are there', async () => {
    const { id, ...item } = await create({
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER, 'X-Team': 'blue' } },
    });
    expect(item).toMatchObject({
      connection_token: '***',
      connection_headers: { headers: { 'X-Api-Key': '***', 'X-Team': '***' } },
    });
    const row = await rowOf(id);
    expect(JSON.stringify(row)).not.toMatch(/nobody-may-see|blue/);
    expect(row.connection_token).toMatch(/^v1\./);
    expect(row.connection_headers).toMatch(/^v1\./);
    await call('COLLECTION_CONNECTIONS_LIST', {});
  });

  it('counts a revision for every change of the target, and for no other', async () => {
    const { id } = await create();
    const changes: [object, number][] = [
      [{ title: 'New', description: 'Text', public_tools: 'ignore', shared_state: true, status: 'inactive' }, 1],
      [{ connection_url: 'http://127.0.0.1:10/mcp' }, 2],
      [{ connection_token: TOKEN }, 3],
      [{ connection_headers: { headers: { 'X-Api-Key': HEADER } } }, 4],
      [{ timeout: 1000 }, 5],
      [{}, 5],
    ];
    for (const [data, revision] of changes) {
      await update(id, data);
      expect((await rowOf(id)).revision).toBe(revision);
    }
    expect(await get(id)).toMatchObject({ title: 'New', description: 'Text', status: 'inactive', timeout: 1000 });
  });

  it('clears with null', async () => {
    const { id } = await create({
      description: 'Text',
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER } },
    });
    const cleared = { description: null, connection_token: null, connection_headers: null };
    expect(await update(id, cleared)).toMatchObject(cleared);
    expect(await rowOf(id)).toMatchObject({ connection_token: null, connection_headers: null });
  });

  it('takes stored credentials to another path, and to another server those that are sent again', async () => {
    const headers = { 'X-Api-Key': HEADER };
    const { id } = await create({ connection_token: TOKEN, connection_headers: { headers } });
    const masked = { connection_token: '***', connection_headers: { headers: { 'X-Api-Key': '***' } } };
    expect(await update(id, { connection_url: `${DEAD_URL}/v2` })).toMatchObject(masked);
    const elsewhere = { connection_url: 'http://127.0.0.1:10/mcp' };
    const again = { ...elsewhere, connection_token: TOKEN, connection_headers: { headers } };
    expect(await update(id, again)).toMatchObject({ ...elsewhere, ...masked });
    const none = { connection_url: DEAD_URL, connection_token: null, connection_headers: null };
    expect(await update(id, none)).toMatchObject(none);
  });

  it('loses nothing when several change one connection at once', async () => {
    const { id } = await create({ connection_headers: { headers: { 'X-Api-Key': HEADER } } });
    await Promise.all([
      update(id, { title: 'Renamed' }),
      update(id, { timeout: 2000 }),
      update(id, { connection_token: TOKEN }),
      update(id, { description: 'Text' }),
    ]);
    expect(await get(id)).toMatchObject({
      title: 'Renamed',
      timeout: 2000,
      connection_token: '***',
      description: 'Text',
      connection_headers: { headers: { 'X-Api-Key': '***' } },
    });
    expect((await rowOf(id)).revision).toBe(3);
  });

  it('pages, filters and orders', async () => {
    const title = `Listed ${randomUUID()}`;
    const created = await Promise.all(['c', 'a', 'b'].map((suffix) => create({ title: `${title} ${suffix}` })));
    const where = { field: ['title'], operator: 'contains', value: title };
    const orderBy = [{ field: ['title'], direction: 'desc' }];
    type List = { items: Item[]; totalCount: number; hasMore: boolean; nextCursor: string | null };
    const first = await call<List>('COLLECTION_CONNECTIONS_LIST', { where, orderBy, limit: 2 });
    expect(first).toMatchObject({ totalCount: 3, hasMore: true, items: [created[0], created[2]] });
    const second = await call<List>('COLLECTION_CONNECTIONS_LIST', {
      where,
      orderBy,
      limit: 2,
      cursor: first.nextCursor,
    });
    expect(second).toEqual({ items: [created[1]], totalCount: 3, hasMore: false, nextCursor: null });
  });

  it('deletes and returns what was deleted', async () => {
    const item = await create();
    expect(await call('COLLECTION_CONNECTIONS_DELETE', { id: item.id })).toEqual({ item });
    for (const name of ['GET', 'DELETE']) {
      const answer = await connections.service.tool(`COLLECTION_CONNECTIONS_${name}`, { id: item.id });
      expect(answer.body).toMatchObject({ status: 404, code: 'not_found' });
    }
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_UPDATE', {
      id: item.id,
      data: { title: 'x' },
    });
    expect(answer.body).toMatchObject({ status: 404, code: 'not_found' });
  });

  it("does not know another organization's connections", async () => {
    const other = await startSecondOrganization(connections.service, 'other');
    const data = { connection_type: 'HTTP', title: 'Theirs', connection_url: DEAD_URL };
    const created = await other.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    const { id } = (created.body as { item: Item }).item;
    const attempts: [string, object][] = [
      ['COLLECTION_CONNECTIONS_GET', { id }],
      ['COLLECTION_CONNECTIONS_UPDATE', { id, data: { title: 'Ours' } }],
      ['COLLECTION_CONNECTIONS_DELETE', { id }],
      ['CONNECTION_TEST', { id }],
    ];
    for (const [name, body] of attempts) {
      expect((await connections.service.tool(name, body)).body).toMatchObject({ status: 404, code: 'not_found' });
    }
    const where = { field: ['id'], operator: 'eq', value: id };
    expect(await call('COLLECTION_CONNECTIONS_LIST', { where })).toMatchObject({ items: [], totalCount: 0 });
    expect((await other.tool('COLLECTION_CONNECTIONS_GET', { id })).body).toMatchObject({ item: { title: 'Theirs' } });
  });
});
