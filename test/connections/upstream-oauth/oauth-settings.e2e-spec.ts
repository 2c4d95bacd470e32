import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { connectTo } from '../../support/proxy-connections.js';
import { useStarted } from '../../support/use-started.js';

const ADDRESS = 'http://127.0.0.1:9/mcp';
const NONE = {
  type: 'none',
  account: 'connection',
  scope: null,
  client_id: null,
  client_secret: null,
  private_key: null,
};
const MACHINE = { type: 'client_credentials', client_id: 'client' };
const pem = (pair: { privateKey: KeyObject }): string =>
  String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
const KEY = pem(generateKeyPairSync('ed25519'));
const WEAK_KEY = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }));
const FOREIGN_KEY = pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }));
const PUBLIC_KEY = String(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));

describe('auth of a connection', () => {
  const service = useStarted(newTenant);

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
      private_key: null,
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
    ['a client of its own without an id', { auth: { ...MACHINE, client_id: null } }, 'data.auth.client_id'],
    ['such a client without a credential', { auth: MACHINE }, 'data.auth.client_secret'],
    ['one with two', { auth: { ...MACHINE, client_secret: 'x', private_key: KEY } }, 'data.auth.client_secret'],
    ['one of members', { auth: { ...MACHINE, client_secret: 'x', account: 'member' } }, 'data.auth.account'],
    ['one with a token', { auth: { ...MACHINE, client_secret: 'x' }, connection_token: 'x' }, 'data.connection_token'],
    [
      'a private key of a person',
      { auth: { type: 'oauth', client_id: 'x', private_key: KEY } },
      'data.auth.private_key',
    ],
    ['a private key without OAuth', { auth: { type: 'none', private_key: KEY } }, 'data.auth.private_key'],
    ['another text as a key', { auth: { ...MACHINE, private_key: 'secret' } }, 'data.auth.private_key'],
    ['a key of 1024 bits', { auth: { ...MACHINE, private_key: WEAK_KEY } }, 'data.auth.private_key'],
    ['a key on another curve', { auth: { ...MACHINE, private_key: FOREIGN_KEY } }, 'data.auth.private_key'],
    ['a public key', { auth: { ...MACHINE, private_key: PUBLIC_KEY } }, 'data.auth.private_key'],
    ['a symmetric key', { auth: { ...MACHINE, private_key: '{"kty":"oct","k":"c2VjcmV0"}' } }, 'data.auth.private_key'],
    ['a masked key where none is stored', { auth: { ...MACHINE, private_key: '***' } }, 'data.auth.private_key'],
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

  it('keeps a stored private key from another server, and from the place of a secret', async () => {
    const auth = { ...MACHINE, private_key: KEY };
    const id = await connectTo(service, ADDRESS, { auth });
    const connection_url = 'http://127.0.0.1:10/mcp';
    const masked = { ...auth, private_key: '***' };
    expect((await update(id, { connection_url })).status).toBe(400);
    expect((await update(id, { connection_url, auth: masked })).status).toBe(400);
    expect((await update(id, { auth: { ...MACHINE, client_secret: '***' } })).status).toBe(400);
    expect((await update(id, { auth: { type: 'oauth', client_id: 'x', client_secret: '***' } })).status).toBe(400);
    expect((await update(id, { connection_url, auth })).status).toBe(200);
    // A caller reads the connection, changes a setting, and stores the whole.
    const shown = { ...NONE, ...masked };
    expect(await authOf(id)).toEqual(shown);
    expect((await update(id, { auth: { ...shown, scope: 'a' } })).body.item.auth).toEqual({ ...shown, scope: 'a' });
  });

  it('seals a private key, which no read shows', async () => {
    const id = await connectTo(service, ADDRESS, { auth: { ...MACHINE, private_key: KEY } });
    const [line = ''] = KEY.split('\n').slice(1);
    const rows = await service.query('SELECT to_json(c)::text AS text FROM connections c WHERE id = $1', [id]);
    const read = await succeed<object>(service, 'COLLECTION_CONNECTIONS_GET', { id });
    for (const seen of [rows, read]) expect(JSON.stringify(seen)).not.toContain(line);
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
