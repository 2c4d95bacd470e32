import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { startTestApp } from '../support/app.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { type Script, type ScriptedServer, startScripted } from '../support/scripted-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { startToolServer } from '../support/tool-server.js';

const TOKEN = 'token-that-nobody-may-see-0123456789';
const HEADER = 'header-that-nobody-may-see-0123456789';
/** Port 9 (discard) answers nowhere on a test machine. */
const DEAD_URL = 'http://127.0.0.1:9/mcp';

interface Item {
  id: string;
  [field: string]: unknown;
}

interface Row {
  connection_token: string | null;
  connection_headers: string | null;
  revision: number;
  tools: { name: string }[] | null;
}

let service: Awaited<ReturnType<typeof startTestApp>>;
let database: DataSource;

beforeAll(async () => {
  service = await startTestApp();
  database = service.app.get(DataSource);
});
afterAll(() => service?.close());

/** Calls a tool that has to succeed; no answer may ever hold a secret. */
async function call<T>(name: string, body: object): Promise<T> {
  const answer = await service.tool(name, body);
  expect(answer.text).not.toMatch(/nobody-may-see/);
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as T;
}

async function create(data: object = {}): Promise<Item> {
  const defaults = { connection_type: 'HTTP', title: 'Upstream', connection_url: DEAD_URL };
  return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_CREATE', { data: { ...defaults, ...data } })).item;
}

async function update(id: string, data: object): Promise<Item> {
  return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_UPDATE', { id, data })).item;
}

async function get(id: string): Promise<Item> {
  return (await call<{ item: Item }>('COLLECTION_CONNECTIONS_GET', { id })).item;
}

async function rowOf(id: string): Promise<Row> {
  const rows: Row[] = await database.query('SELECT * FROM connections WHERE id = $1', [id]);
  expect(rows).toHaveLength(1);
  return rows[0] as Row;
}

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
      connection_headers: null,
      stdio: null,
      timeout: 300_000,
      status: 'active',
      status_reason: null,
      public_tools: 'honor',
      tools_refreshed_at: null,
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
      [{ title: 'New', description: 'Text', public_tools: 'ignore', status: 'inactive' }, 1],
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
      const answer = await service.tool(`COLLECTION_CONNECTIONS_${name}`, { id: item.id });
      expect(answer.body).toMatchObject({ status: 404, code: 'not_found' });
    }
    const answer = await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id: item.id, data: { title: 'x' } });
    expect(answer.body).toMatchObject({ status: 404, code: 'not_found' });
  });

  it("does not know another organization's connections", async () => {
    const other = await startSecondOrganization(service.app, service.url, 'other');
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
      expect((await service.tool(name, body)).body).toMatchObject({ status: 404, code: 'not_found' });
    }
    const where = { field: ['id'], operator: 'eq', value: id };
    expect(await call('COLLECTION_CONNECTIONS_LIST', { where })).toMatchObject({ items: [], totalCount: 0 });
    expect((await other.tool('COLLECTION_CONNECTIONS_GET', { id })).body).toMatchObject({ item: { title: 'Theirs' } });
  });
});

describe('what is refused', () => {
  const headers = (map: unknown): object => ({ connection_headers: { headers: map } });

  it.each<[string, object, string, string?]>([
    ['no title', { title: undefined }, 'data.title'],
    ['a title of null', { title: null }, 'data.title'],
    ['a blank title', { title: '  ' }, 'data.title'],
    ['a title of two lines', { title: 'a\nb' }, 'data.title'],
    ['a long title', { title: 'a'.repeat(129) }, 'data.title'],
    ['a description with NUL', { description: 'a\u0000b' }, 'data.description'],
    ['a long description', { description: 'a'.repeat(2001) }, 'data.description'],
    ['a program', { stdio: { command: 'node' } }, 'data.stdio'],
    ['VIRTUAL', { connection_type: 'VIRTUAL' }, 'data.connection_type'],
    ['no type', { connection_type: undefined }, 'data.connection_type'],
    ['no URL', { connection_url: undefined }, 'data.connection_url'],
    ['a relative URL', { connection_url: '/mcp' }, 'data.connection_url'],
    ['another scheme', { connection_url: 'ftp://example.com/' }, 'data.connection_url'],
    ['a URL with a line break', { connection_url: 'http://exam\nple.com/' }, 'data.connection_url'],
    ['a long URL', { connection_url: `http://example.com/${'a'.repeat(2048)}` }, 'data.connection_url'],
    [
      'a URL with credentials',
      { connection_url: 'http://user:pass@example.com/' },
      'data.connection_url',
      'address_refused',
    ],
    ['a URL with a fragment', { connection_url: 'http://example.com/#x' }, 'data.connection_url', 'address_refused'],
    ['an unspecified address', { connection_url: 'http://0.0.0.0:3000/' }, 'data.connection_url', 'address_refused'],
    ['a multicast address', { connection_url: 'http://[ff02::1]/' }, 'data.connection_url', 'address_refused'],
    ['an empty token', { connection_token: '' }, 'data.connection_token'],
    ['a token with the scheme', { connection_token: `Bearer ${TOKEN}` }, 'data.connection_token'],
    ['a token with a line break', { connection_token: `${TOKEN}\r\nX-Evil: 1` }, 'data.connection_token'],
    ['a masked token where none is stored', { connection_token: '***' }, 'data.connection_token'],
    ['headers that are a list', { connection_headers: [] }, 'data.connection_headers'],
    ['headers without the map', { connection_headers: {} }, 'data.connection_headers.headers'],
    [
      'headers beside the map',
      { connection_headers: { headers: {}, 'X-Api-Key': HEADER } },
      'data.connection_headers.X-Api-Key',
    ],
    ['a header that is a number', headers({ 'X-Api-Key': 1 }), 'data.connection_headers.headers'],
    ['a hop-by-hop header', headers({ Connection: 'close' }), 'data.connection_headers.headers.Connection'],
    ['a framing header', headers({ 'content-length': '1' }), 'data.connection_headers.headers.content-length'],
    ['a header of the protocol', headers({ 'Mcp-Session-Id': '1' }), 'data.connection_headers.headers.Mcp-Session-Id'],
    ['a header of ours', headers({ 'x-signalbox-user': '1' }), 'data.connection_headers.headers.x-signalbox-user'],
    ['a header value with CRLF', headers({ 'X-Key': `${HEADER}\r\nX: 1` }), 'data.connection_headers.headers.X-Key'],
    ['a value in the place of a name', headers({ [`Bearer ${HEADER}`]: '' }), 'data.connection_headers.headers'],
    ['a header twice', headers({ 'X-Key': '1', 'x-key': '2' }), 'data.connection_headers.headers.x-key'],
    ['a masked header where none is stored', headers({ 'X-Key': '***' }), 'data.connection_headers.headers.X-Key'],
    ['a short timeout', { timeout: 999 }, 'data.timeout'],
    ['a long timeout', { timeout: 3_600_001 }, 'data.timeout'],
    ['a timeout of text', { timeout: '1000' }, 'data.timeout'],
    ['a status that is only found out', { status: 'error' }, 'data.status'],
    ['another rule for public tools', { public_tools: 'always' }, 'data.public_tools'],
    ['an unknown property', { revision: 7 }, 'data.revision'],
  ])('%s', async (_name, change, path, code = 'invalid_request') => {
    const data = { connection_type: 'HTTP', title: 'Refused', connection_url: DEAD_URL, ...change };
    const answer = await service.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expect(answer.body).toMatchObject({ status: 400, code });
    expect(answer.body.errors.map((fault: { path: string }) => fault.path)).toContain(path);
    expect(answer.text).not.toMatch(/nobody-may-see/);
  });

  it('says where agents are created', async () => {
    const answer = await service.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { connection_type: 'VIRTUAL', title: 'x' },
    });
    expect(answer.body.detail).toContain('COLLECTION_VIRTUAL_MCP_CREATE');
  });

  it.each([
    [{ title: null }, 'data.title'],
    [{ timeout: null }, 'data.timeout'],
    [{ status: null }, 'data.status'],
    [{ connection_url: null }, 'data.connection_url'],
    [{ connection_type: 'STDIO' }, 'data.connection_type'],
    [{ stdio: { command: 'node' } }, 'data.stdio'],
    [{ connection_headers: { headers: { 'X-Other': '***' } } }, 'data.connection_headers.headers.X-Other'],
  ])('the update %j', async (data, path) => {
    const { id } = await create({ connection_headers: { headers: { 'X-Api-Key': HEADER } } });
    const before = await rowOf(id);
    const answer = await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.body.errors.map((fault: { path: string }) => fault.path)).toContain(path);
    expect(await rowOf(id)).toEqual(before);
  });

  it.each([
    [{}],
    [{ connection_token: '***', connection_headers: null }],
    [{ connection_token: null }],
    [{ connection_token: null, connection_headers: { headers: { 'X-New': '1', 'x-api-key': '***' } } }],
  ])('another server with stored credentials, %j', async (credentials) => {
    const { id } = await create({
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER } },
    });
    const before = await rowOf(id);
    const data = { connection_url: 'http://127.0.0.1:10/mcp', ...credentials };
    const answer = await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expect(answer.body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path: 'data.connection_url', message: expect.stringContaining('again, or null, in the same update') }],
    });
    expect(await rowOf(id)).toEqual(before);
  });

  it.each([
    [{}, 'id'],
    [{ id: 'x' }, 'id'],
    [{ id: randomUUID(), more: 1 }, 'more'],
  ])('the id %j', async (body, path) => {
    const answer = await service.tool('COLLECTION_CONNECTIONS_GET', body);
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path }] });
  });
});

describe('CONNECTION_TEST', () => {
  interface Check {
    ok: boolean;
    latency_ms: number;
    tools: number;
    protocol_version: string | null;
    error?: string;
  }
  let everything: EverythingServer;
  const servers: ScriptedServer[] = [];

  beforeAll(async () => {
    everything = await startEverything();
  });
  afterAll(async () => {
    await Promise.all([everything?.close(), ...servers.map((server) => server.close())]);
  });

  async function scripted(script: Script): Promise<ScriptedServer> {
    const server = await startScripted(script);
    servers.push(server);
    return server;
  }

  function check(id: string): Promise<Check> {
    return call<Check>('CONNECTION_TEST', { id });
  }

  it('lists the tools of a real server', async () => {
    const { id } = await create({ connection_url: everything.url });
    expect(await check(id)).toEqual({
      ok: true,
      latency_ms: expect.any(Number),
      tools: expect.any(Number),
      protocol_version: '2025-11-25',
    });
    const { tools } = await rowOf(id);
    expect(tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect(await get(id)).toMatchObject({ status: 'active', tools_refreshed_at: expect.stringMatching(/Z$/) });
  });

  it('reports an upstream that is down, and its recovery', async () => {
    const { id } = await create();
    const error = 'The upstream at 127.0.0.1:9 refused the connection.';
    expect(await check(id)).toMatchObject({ ok: false, tools: 0, protocol_version: null, error });
    expect(await get(id)).toMatchObject({ status: 'error', status_reason: error });
    expect(await update(id, { connection_url: everything.url })).toMatchObject({
      status: 'active',
      status_reason: null,
    });
    expect(await check(id)).toMatchObject({ ok: true });
  });

  it.each([
    ['401', 401, 'text/plain', /answered 401: the stored credential was not accepted/],
    ['HTML', 200, 'text/html', /does not speak MCP: it answered 200 text\/html/],
    ['500', 500, 'text/plain', /answered 500/],
  ])('says what is wrong with %s, without what was sent or answered', async (_name, status, type, sentence) => {
    const server = await scripted((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(`<p>${HEADER}</p>`);
    });
    const { id } = await create({ connection_url: server.url, connection_token: TOKEN });
    expect(await check(id)).toMatchObject({ ok: false, error: expect.stringMatching(sentence) });
    expect(await get(id)).toMatchObject({ status: 'error', status_reason: expect.stringMatching(sentence) });
  });

  it('leaves an inactive connection inactive', async () => {
    const working = await create({ connection_url: everything.url, status: 'inactive' });
    const dead = await create({ status: 'inactive' });
    expect(await check(working.id)).toMatchObject({ ok: true });
    expect(await check(dead.id)).toMatchObject({ ok: false });
    for (const { id } of [working, dead]) {
      expect(await get(id)).toMatchObject({ status: 'inactive', status_reason: null });
    }
  });

  it('sends the stored credentials, also those that an update kept', async () => {
    const server = await startToolServer('echo');
    servers.push(server);
    const { id } = await create({
      connection_url: server.url,
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER, 'X-Team': 'blue' } },
    });
    const kept = { 'x-api-key': '***', 'X-Team': 'red' };
    await update(id, { connection_token: '***', connection_headers: { headers: kept } });
    expect(await check(id)).toMatchObject({ ok: true, tools: 1 });
    expect(server.requests.length).toBeGreaterThan(0);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-api-key': HEADER, 'x-team': 'red' });
    }
  });

  it('keeps tools whose text the database would not take as jsonb', async () => {
    const server = await startToolServer('nul\u0000', 'half\ud800');
    servers.push(server);
    const { id } = await create({ connection_url: server.url });
    expect(await check(id)).toMatchObject({ ok: true, tools: 2 });
    const agent = await call<{ item: Item }>('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Agent', connections: [{ connection_id: id }] },
    });
    expect(await check(agent.item.id)).toMatchObject({ ok: true, tools: 2 });
  });

  it('says so when the stored credentials cannot be opened', async () => {
    const { id } = await create({ connection_url: everything.url, connection_token: TOKEN });
    const other = await create({ connection_token: TOKEN });
    const { connection_token } = await rowOf(other.id);
    await database.query('UPDATE connections SET connection_token = $2 WHERE id = $1', [id, connection_token]);
    expect(await check(id)).toMatchObject({ ok: false, error: expect.stringContaining('cannot be decrypted') });
  });
});
