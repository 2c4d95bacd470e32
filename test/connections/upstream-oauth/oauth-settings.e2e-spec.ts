import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { connectTo } from '../../support/proxy-connections.js';

const ADDRESS = 'http://127.0.0.1:9/mcp';
const NONE = { type: 'none', account: 'connection', scope: null, client_id: null, client_secret: null };

describe('auth of a connection', () => {
  let service: Tenant;

  beforeAll(async () => {
    service = await newTenant();
  });
  afterAll(() => service?.close());

  const authOf = async (id: string): Promise<unknown> =>
    (await succeed<{ item: { auth: unknown } }>(service, 'COLLECTION_CONNECTIONS_GET', { id })).item.auth;
  const update = (id: string, data: object) => service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });

  it('follows the stored token by default', async () => {
    const id = await connectTo(service, ADDRESS, { connection_token: 'secret' });
    expect(await authOf(id)).toEqual({ ...NONE, type: 'token' });
    expect((await update(id, { connection_token: null })).body.item.auth).toEqual(NONE);
  });

  it('can be switched, and removes the credentials of the other type', async () => {
    const id = await connectTo(service, ADDRESS, { connection_token: 'secret' });
    const oauth = { type: 'oauth', account: 'member', scope: 'a b', client_id: 'client', client_secret: 'hidden' };
    const { item } = (await update(id, { auth: oauth })).body;
    expect(item).toMatchObject({ connection_token: null, auth: { ...oauth, client_secret: '***' } });
    expect((await update(id, { auth: { ...oauth, client_secret: '***', scope: null } })).body.item.auth).toEqual({
      ...oauth,
      client_secret: '***',
      scope: null,
    });
    expect((await update(id, { auth: { type: 'none' } })).body.item.auth).toEqual(NONE);
    const [row] = await service.query('SELECT * FROM connections WHERE id = $1', [id]);
    expect(row).toMatchObject({ oauth: null, oauth_client_secret: null, connection_token: null });
    const back = await update(id, { auth: { type: 'token' }, connection_token: 'again' });
    expect(back.body.item).toMatchObject({ connection_token: '***', auth: { ...NONE, type: 'token' } });
  });

  it.each<[string, object, string]>([
    ['an unknown type', { auth: { type: 'basic' } }, 'data.auth.type'],
    ['an unknown property', { auth: { type: 'oauth', token: 'x' } }, 'data.auth.token'],
    ['a secret without its client', { auth: { type: 'oauth', client_secret: 'x' } }, 'data.auth.client_id'],
    [
      'a masked secret where none is stored',
      { auth: { type: 'oauth', client_id: 'x', client_secret: '***' } },
      'data.auth.client_secret',
    ],
    ['scopes with a line break', { auth: { type: 'oauth', scope: 'a\nb' } }, 'data.auth.scope'],
    ['scopes without OAuth', { auth: { type: 'none', scope: 'a' } }, 'data.auth.scope'],
    ['a token with OAuth', { auth: { type: 'oauth' }, connection_token: 'x' }, 'data.connection_token'],
    ['a token with none', { auth: { type: 'none' }, connection_token: 'x' }, 'data.connection_token'],
    ['the type token without one', { auth: { type: 'token' } }, 'data.connection_token'],
    ['null', { auth: null }, 'data.auth'],
  ])('refuses %s', async (_what, more, path) => {
    const data = { title: 'Upstream', connection_type: 'HTTP', connection_url: ADDRESS, ...more };
    const { status, body } = await service.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expect({ status, paths: [...new Set(body.errors?.map((error: { path: string }) => error.path))] }).toEqual({
      status: 400,
      paths: [path],
    });
  });

  it('is refused for programs, and null for them', async () => {
    const data = { title: 'Program', connection_type: 'STDIO', stdio: { command: 'node' } };
    const refused = await service.tool('COLLECTION_CONNECTIONS_CREATE', { data: { ...data, auth: { type: 'oauth' } } });
    expect(refused.status).toBe(400);
    expect((await succeed<{ item: object }>(service, 'COLLECTION_CONNECTIONS_CREATE', { data })).item).toMatchObject({
      auth: null,
    });
  });

  it('keeps a stored client secret from another server', async () => {
    const auth = { type: 'oauth', client_id: 'client', client_secret: 'hidden' };
    const id = await connectTo(service, ADDRESS, { auth });
    const connection_url = 'http://127.0.0.1:10/mcp';
    expect((await update(id, { connection_url })).status).toBe(400);
    expect((await update(id, { connection_url, auth: { ...auth, client_secret: '***' } })).status).toBe(400);
    expect((await update(id, { connection_url, auth })).status).toBe(200);
  });

  it("is stored as the connection's own secret, which no read shows", async () => {
    const secret = 'a-client-secret-of-its-own';
    const id = await connectTo(service, ADDRESS, {
      auth: { type: 'oauth', client_id: 'client', client_secret: secret },
    });
    const rows = await service.query('SELECT to_json(c)::text AS text FROM connections c WHERE id = $1', [id]);
    expect(JSON.stringify(rows)).not.toContain(secret);
    const page = await succeed<object>(service, 'COLLECTION_CONNECTIONS_LIST', {});
    expect(JSON.stringify(page)).not.toContain(secret);
  });
});
