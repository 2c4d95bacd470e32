import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ClientCredentialsProvider, PrivateKeyJwtProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { exportJWK, exportPKCS8, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import supertest from 'supertest';
import { createAgent, createThread, openStream, succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { secondsFromNow } from '../../support/issuer-server.js';
import { expectProblem } from '../../support/problem.js';
import { addKey, newTenantOfTwo, type Tenant } from '../../support/tenant.js';
import { addPerson, newEmail } from '../sign-in/people.js';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const KEYS_OF_SELF = { self: ['API_KEY_LIST', 'OAUTH_CLIENT_LIST'] };

/** Two processes of one service. */
let service: Tenant;
let second: Tenant;
let other: Tenant;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;

interface Created {
  item: { id: string; client_id: string; api_key_id: string | null };
  client_secret?: string;
}

beforeAll(async () => {
  [service, second] = await newTenantOfTwo();
  other = (await newTenantOfTwo())[0];
  keys = await generateKeyPair('ES256', { extractable: true });
});
afterAll(async () => {
  await other?.close();
  await service?.close();
});

async function create(changes: object = {}, key = service.apiKey): Promise<Created> {
  const input = { name: 'Nightly', grant_types: ['client_credentials'], permissions: KEYS_OF_SELF, ...changes };
  return (await service.tool('OAUTH_CLIENT_CREATE', input, key).expect(200)).body;
}

async function publicKey(): Promise<object> {
  return { ...(await exportJWK(keys.publicKey)), kid: 'one' };
}

async function createWithKeys(changes: object = {}): Promise<Created> {
  return create({ auth: 'jwks', jwks: { keys: [await publicKey()] }, ...changes });
}

function api({ url, org }: Tenant = service): string {
  return `${url}/api/${org}`;
}

function askWith(fields: Record<string, string>, at: Tenant = service): supertest.Test {
  const form = { grant_type: 'client_credentials', resource: api(service), ...fields };
  return supertest(at.url).post('/oauth/token').type('form').send(form);
}

function ask({ item, client_secret = '' }: Created, fields: Record<string, string> = {}): supertest.Test {
  return askWith({ client_id: item.client_id, client_secret, ...fields });
}

/** Authenticates with an assertion (RFC 7523 §2.2). */
function askSigned(assertion: string, fields: Record<string, string> = {}, at = service): supertest.Test {
  return askWith({ client_assertion_type: JWT_BEARER, client_assertion: assertion, ...fields }, at);
}

async function assertionOf({ item }: Created, claims: JWTPayload = {}, header = {}, key = keys.privateKey) {
  const base = { iss: item.client_id, sub: item.client_id, aud: service.url, exp: secondsFromNow(60) };
  return new SignJWT({ ...base, jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(key);
}

async function tokenOf(client: Created, resource = api()): Promise<string> {
  return (await ask(client, { resource }).expect(200)).body.access_token;
}

function call(token: string, tool = 'API_KEY_LIST', at = service): supertest.Test {
  return at.tool(tool, {}, token);
}

describe('a client that acts for itself', () => {
  it('gets a token with its secret, in the header or in the body, and does what its permissions allow', async () => {
    const client = await create();
    const { body, headers } = await ask(client).expect(200);
    expect(body).toEqual({ access_token: expect.any(String), expires_in: 3600, scope: 'api', token_type: 'Bearer' });
    expect(headers['cache-control']).toBe('no-store');
    await call(body.access_token).expect(200);
    expectProblem(await call(body.access_token, 'MEMBER_LIST'), 403, 'permission_denied');
    const basic = await supertest(service.url)
      .post('/oauth/token')
      .auth(client.item.client_id, client.client_secret ?? '')
      .type('form')
      .send({ grant_type: 'client_credentials', resource: api() })
      .expect(200);
    await call(basic.body.access_token, 'API_KEY_LIST', second).expect(200);
  });

  it('reaches no further than the scope of the credential that made it', async () => {
    const { item, client_secret } = await create();
    await service.query(`UPDATE api_keys SET scope = 'openid mcp' WHERE id = $1`, [item.api_key_id]);
    expect((await ask({ item, client_secret }).expect(400)).body.error).toBe('invalid_target');
    await tokenOf({ item, client_secret }, `${api()}/mcp/self`);
  });

  it('is an MCP client of the field, with a secret or with keys', async () => {
    const endpoint = new URL(`${api()}/mcp/self`);
    const [withSecret, withKeys] = [await create(), await createWithKeys()];
    const privateKey = await exportPKCS8(keys.privateKey);
    const clientOf = ({ item }: Created) => ({ clientId: item.client_id, expectedIssuer: service.url });
    for (const authProvider of [
      new ClientCredentialsProvider({ ...clientOf(withSecret), clientSecret: withSecret.client_secret ?? '' }),
      new PrivateKeyJwtProvider({ ...clientOf(withKeys), privateKey, algorithm: 'ES256' }),
    ]) {
      const client = new Client({ name: 'test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }));
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).toSorted()).toEqual(KEYS_OF_SELF.self);
      await client.close();
    }
  });

  it('is announced, and listed with the key that carries its rights', async () => {
    const { body } = await supertest(service.url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body).toMatchObject({
      grant_types_supported: expect.arrayContaining(['client_credentials']),
      token_endpoint_auth_methods_supported: expect.arrayContaining(['client_secret_basic', 'private_key_jwt']),
      token_endpoint_auth_signing_alg_values_supported: expect.arrayContaining(['ES256', 'RS256', 'EdDSA']),
    });
    expect(JSON.stringify(body.token_endpoint_auth_signing_alg_values_supported)).not.toMatch(/HS|none/);
    const { item } = await createWithKeys();
    const clients = (await service.tool('OAUTH_CLIENT_LIST').expect(200)).body.items;
    expect(clients).toContainEqual({ ...item, auth: 'jwks', grant_types: ['client_credentials'], redirect_uris: [] });
    const found = (await service.tool('API_KEY_LIST').expect(200)).body.items;
    expect(found).toContainEqual(expect.objectContaining({ id: item.api_key_id, permissions: KEYS_OF_SELF }));
  });

  it('is on record with its maker', async () => {
    const userId = await addPerson(service, { email: newEmail(), role: 'admin' });
    const { key } = await addKey(service, { name: 'maker', userId });
    const client = await create({ permissions: { self: ['API_KEY_CREATE'] } }, key);
    const token = await tokenOf(client);
    const made = await service.tool('API_KEY_CREATE', { name: 'child', permissions: {} }, token).expect(200);
    const { items } = (await service.tool('AUDIT_EVENTS_LIST', { limit: 1 }).expect(200)).body;
    expect(items[0]).toMatchObject({
      event: 'key.created',
      target: { id: made.body.id },
      actor: { client_id: client.item.client_id, user_id: userId, api_key_id: client.item.api_key_id },
    });
    await service.tool('OAUTH_CLIENT_DELETE', { id: client.item.id }).expect(200);
    expectProblem(await call(made.body.key), 401, 'credential_invalid');
  });

  it('opens the resource of its token only, which is one of its organization', async () => {
    const client = await create({ permissions: { self: ['*'], '*': ['*'] } });
    const token = await tokenOf(client, `${api()}/mcp/self`);
    expectProblem(await call(token), 401, 'credential_invalid');
    const mine = await tokenOf(client);
    expectProblem(await call(mine, 'API_KEY_LIST', other), 401, 'credential_invalid');
    for (const resource of [
      api(other),
      `${api(other)}/mcp/self`,
      `${api()}/mcp/${randomUUID()}`,
      `${api()}/mcp/gateway/${randomUUID()}`,
      `${service.url}/mcp/${randomUUID()}`,
      'https://elsewhere.example/api/x',
      `${api()}#x`,
      'rubbish',
    ]) {
      expect((await ask(client, { resource })).body.error).toBe('invalid_target');
    }
    const without = { grant_type: 'client_credentials', client_id: client.item.client_id };
    const answer = await supertest(service.url)
      .post('/oauth/token')
      .type('form')
      .send({ ...without, client_secret: client.client_secret });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_target']);
    expect((await ask(client, { scope: 'mcp' })).body.error).toBe('invalid_scope');
    expect((await ask(client, { scope: 'openid api' }).expect(200)).body.scope).toBe('api');
  });
});

describe('a client assertion', () => {
  it.each([
    ['the issuer', ''],
    ['the token endpoint', '/oauth/token'],
  ])('can be for %s', async (_what, path) => {
    const client = await createWithKeys();
    const assertion = await assertionOf(client, { aud: service.url + path });
    await call((await askSigned(assertion).expect(200)).body.access_token).expect(200);
  });

  it('works once, also at two processes at once', async () => {
    const client = await createWithKeys();
    const assertion = await assertionOf(client);
    const answers = await Promise.all([service, second, service, second].map((at) => askSigned(assertion, {}, at)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    const again = await askSigned(assertion).expect(401);
    expect(again.body.error).toBe('invalid_client');
  });

  it.each<[string, (client: Created) => Promise<string> | string]>([
    ['of another audience', (client) => assertionOf(client, { aud: 'https://elsewhere.example' })],
    ['that has expired', (client) => assertionOf(client, { exp: secondsFromNow(-60) })],
    ['that lives too long', (client) => assertionOf(client, { exp: secondsFromNow(7_200) })],
    ['without an end', (client) => assertionOf(client, { exp: undefined as never })],
    ['without an id', (client) => assertionOf(client, { jti: undefined as never })],
    ['of another issuer', (client) => assertionOf(client, { iss: 'somebody' })],
    [
      'that another key has signed',
      async (client) => {
        const stranger = await generateKeyPair('ES256');
        return assertionOf(client, {}, {}, stranger.privateKey);
      },
    ],
    ['with a key id that the client does not have', (client) => assertionOf(client, {}, { kid: '../one' })],
    [
      'with a key in its header',
      async (client) => {
        const stranger = await generateKeyPair('ES256', { extractable: true });
        const jwk = await exportJWK(stranger.publicKey);
        return assertionOf(client, {}, { jwk, kid: undefined }, stranger.privateKey);
      },
    ],
    ['without a signature', (client) => forged(client, { alg: 'none' }, () => '')],
    [
      'signed with the public key as a secret',
      async (client) => {
        const secret = JSON.stringify(await publicKey());
        return forged(client, { alg: 'HS256', kid: 'one' }, (text) =>
          createHmac('sha256', secret).update(text).digest('base64url'),
        );
      },
    ],
    ['of 50 kB', (client) => assertionOf(client, { padding: 'x'.repeat(36_000), aud: 'elsewhere' })],
  ])('%s is refused', async (_what, make) => {
    const { status, body } = await askSigned(await make(await createWithKeys()));
    expect([status, body.error]).toEqual([401, 'invalid_client']);
  });

  it('of one client is none of another', async () => {
    const [mine, others] = [await createWithKeys(), await create()];
    const mixed = await askSigned(await assertionOf(mine), { client_id: others.item.client_id });
    expect([mixed.status, mixed.body.error]).toEqual([400, 'invalid_request']);
    const asOther = await askSigned(await assertionOf(others));
    expect([asOther.status, asOther.body.error]).toEqual([401, 'invalid_client']);
  });
});

async function forged({ item }: Created, header: object, sign: (text: string) => string): Promise<string> {
  const claims = { iss: item.client_id, sub: item.client_id, aud: service.url, exp: secondsFromNow(60), jti: 'x' };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign(text)}`;
}

describe('a client never does more than its maker', () => {
  async function madeBy(permissions: object) {
    const role = `role-${randomUUID()}`;
    await service.tool('ROLE_CREATE', { name: role, permissions }).expect(200);
    const userId = await addPerson(service, { email: newEmail(), role });
    const { key } = await addKey(service, { name: 'maker', userId });
    const client = await create({}, key);
    return { role, userId, key, client, token: await tokenOf(client) };
  }
  const MAKES = { self: ['OAUTH_CLIENT_CREATE', ...KEYS_OF_SELF.self] };

  it('cannot be made with more', async () => {
    const { key } = await madeBy(MAKES);
    const input = { name: 'Wide', grant_types: ['client_credentials'], permissions: { self: ['*'] } };
    expectProblem(await service.tool('OAUTH_CLIENT_CREATE', input, key), 403, 'permission_widening');
  });

  it('loses what its maker loses', async () => {
    const { role, token } = await madeBy(MAKES);
    await call(token).expect(200);
    await service.tool('ROLE_UPDATE', { name: role, permissions: { self: ['OAUTH_CLIENT_LIST'] } }).expect(200);
    await eventually(async () => expectProblem(await call(token, 'API_KEY_LIST', second), 403, 'permission_denied'));
    await call(token, 'OAUTH_CLIENT_LIST').expect(200);
  });

  it('ends with the membership, its tokens and open streams included', async () => {
    const { userId, client, token } = await madeBy(MAKES);
    const threadId = await createThread(service, await createAgent(service));
    const stream = await openStream(second.url, service.org, threadId, token);
    expect(stream.status).toBe(200);
    const ended = stream.collectUntilDone().catch(() => undefined);
    const { body } = await service.tool('MEMBER_LIST', {
      where: { field: ['user_id'], operator: 'eq', value: userId },
    });
    await service.tool('MEMBER_REMOVE', { id: body.items[0].id }).expect(200);
    await eventually(async () => expectProblem(await call(token, 'API_KEY_LIST', second), 401, 'credential_invalid'));
    await ended;
    expect((await ask(client)).body.error).toBe('invalid_target');
    const clients = (await service.tool('OAUTH_CLIENT_LIST').expect(200)).body.items;
    expect(clients.map(({ id }: { id: string }) => id)).not.toContain(client.item.id);
  });

  it.each([
    ['the client is deleted', 'OAUTH_CLIENT_DELETE', ({ item }: Created) => item.id],
    ['its key is deleted', 'API_KEY_DELETE', ({ item }: Created) => item.api_key_id],
  ])('ends when %s', async (_what, tool, idOf) => {
    const client = await create();
    const token = await tokenOf(client);
    await call(token, 'API_KEY_LIST', second).expect(200);
    await service.tool(tool, { id: idOf(client) }).expect(200);
    await eventually(async () => expectProblem(await call(token, 'API_KEY_LIST', second), 401, 'credential_invalid'));
    expect((await ask(client)).status).toBeGreaterThanOrEqual(400);
  });

  it('gives back a token', async () => {
    const client = await create();
    const token = await tokenOf(client);
    const revoke = (as: Created) =>
      supertest(service.url)
        .post('/oauth/revoke')
        .type('form')
        .send({ token, client_id: as.item.client_id, client_secret: as.client_secret });
    await revoke(await create());
    await call(token).expect(200);
    await revoke(client).expect(200);
    await eventually(async () => expectProblem(await call(token), 401, 'credential_invalid'));
  });
});

describe('setting up', () => {
  const machine = { name: 'x', grant_types: ['client_credentials'], permissions: {} };
  it.each<[string, object]>([
    ['no permissions', { permissions: undefined }],
    ['permissions without the grant', { grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'] }],
    ['redirects', { redirect_uris: ['https://a.example/'] }],
    ['neither redirects nor grants', { grant_types: undefined, permissions: undefined }],
    [
      'a secret for a client with redirects',
      { grant_types: undefined, permissions: undefined, redirect_uris: ['https://a.example/'], auth: 'secret' },
    ],
    ['both grants', { grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'] }],
    ['an unknown grant', { grant_types: ['password'] }],
    ['no grant', { grant_types: [] }],
    ['keys that it does not say to use', { jwks: { keys: [{}] } }],
    ['no keys', { auth: 'jwks' }],
    ['an empty key set', { auth: 'jwks', jwks: { keys: [] } }],
    ['an address of keys', { auth: 'jwks', jwks_uri: 'https://a.example/keys' }],
    ['a secret key', { auth: 'jwks', jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }],
    ['rubbish for a key', { auth: 'jwks', jwks: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB' }] } }],
    ['a key of an unknown curve', { auth: 'jwks', jwks: { keys: [{ kty: 'EC', crv: 'secp256k1', x: 'x', y: 'y' }] } }],
    ['text for keys', { auth: 'jwks', jwks: { keys: 'x' } }],
  ])('refuses %s', async (_what, changes) => {
    expectProblem(await service.tool('OAUTH_CLIENT_CREATE', { ...machine, ...changes }), 400, 'invalid_request');
  });

  it('refuses private keys, weak ones and too many', async () => {
    const weak = await crypto.subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      true,
      ['sign', 'verify'],
    );
    for (const set of [
      [await exportJWK(keys.privateKey)],
      [await crypto.subtle.exportKey('jwk', weak.publicKey)],
      Array.from({ length: 1_000 }, () => ({})),
      [{ ...(await publicKey()), kid: 1 }],
    ]) {
      const input = { ...machine, auth: 'jwks', jwks: { keys: set } };
      expectProblem(await service.tool('OAUTH_CLIENT_CREATE', input), 400, 'invalid_request');
    }
  });

  it('is not what a registration can do', async () => {
    const { keys: many } = { keys: Array.from({ length: 11 }, () => ({ kty: 'EC' })) };
    for (const metadata of [
      { grant_types: ['client_credentials'], response_types: [] },
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://127.0.0.1/keys' },
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: many } },
    ]) {
      const registration = { client_name: 'x', redirect_uris: ['https://a.example/'], ...metadata };
      const { status, body } = await supertest(service.url).post('/oauth/register').send(registration);
      expect([status, body.error]).toEqual([400, 'invalid_client_metadata']);
    }
  });

  it('is refused without a trace beyond the limit of keys of the maker', async () => {
    const limited = await succeed<{ key: string }>(service, 'API_KEY_CREATE', {
      name: 'limited',
      permissions: { self: ['*'] },
      rate_limit: { per_minute: 1_000 },
    });
    expectProblem(await service.tool('OAUTH_CLIENT_CREATE', machine, limited.key), 403, 'permission_widening');
  });
});
