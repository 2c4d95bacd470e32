import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, CrossAppAccessProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { exportJWK, exportSPKI, type JWTPayload, SignJWT } from 'jose';
import supertest from 'supertest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import {
  AUDIENCE,
  type IssuerServer,
  makeIssuerKey,
  secondsFromNow,
  startIssuer,
} from '../../support/issuer-server.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { addPerson, newEmail } from '../sign-in/people.js';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TYPE = 'oauth-id-jag+jwt';
/** A critical extension of the header (RFC 7515 §4.1.11) that the service does not implement. */
const EXTENSION = 'https://example.com/extension';

let issuer: IssuerServer;
/** Vouches for people as well. */
let rival: IssuerServer;
/** Trusted for bearer tokens, and not to vouch for people. */
let plain: IssuerServer;
/** Its keys were not read yet. */
let silent: IssuerServer;
/** Two processes of one service. */
let first: TestApp;
let second: TestApp;
let other: { slug: string; key: string };
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  [issuer, rival, plain, silent] = await Promise.all([startIssuer(), startIssuer(), startIssuer(), startIssuer()]);
  const trusted = [
    { issuer: issuer.issuer, audience: AUDIENCE, id_jag: true },
    { issuer: rival.issuer, audience: AUDIENCE, id_jag: true },
    { issuer: silent.issuer, audience: AUDIENCE, id_jag: true },
    { issuer: plain.issuer, audience: AUDIENCE },
  ];
  const env = { TRUSTED_ISSUERS: JSON.stringify(trusted) };
  first = await startTestApp({ env });
  second = await startTestApp({ database: first.database, env: { ...env, BASE_URL: first.url } });
  other = await startSecondOrganization(first, 'other');
  client = await makeClient();
});
afterAll(async () => {
  await second?.close();
  await first?.close();
  await Promise.all([issuer, rival, plain, silent].map((server) => server?.close()));
});
async function makeClient(key?: string, org = 'default') {
  const { body } = await supertest(first.url)
    .post(`/api/${org}/tools/OAUTH_CLIENT_CREATE`)
    .set('authorization', `Bearer ${key ?? first.apiKey}`)
    .send({ name: 'Desktop', grant_types: [GRANT] })
    .expect(200);
  return { client_id: body.item.client_id as string, client_secret: body.client_secret as string };
}

interface Person {
  readonly userId: string;
  readonly email: string;
  readonly sub: string;
}

async function newPerson(role = 'admin'): Promise<Person> {
  const email = newEmail();
  const userId = await addPerson({ query: first.query, org: 'default' }, { email, role });
  return { userId, email, sub: randomUUID() };
}

function self(): string {
  return `${first.url}/api/default/mcp/self`;
}

/** An assertion that is right, but for the changes. */
async function assertionFor({ email, sub }: Person, claims: JWTPayload = {}, header = {}, signer = issuer) {
  const base = { iss: signer.issuer, sub, email, email_verified: true, aud: first.url, client_id: client.client_id };
  const times = { iat: secondsFromNow(0), exp: secondsFromNow(300), jti: randomUUID() };
  const { alg, kid, privateKey } = signer.key;
  return new SignJWT({ ...base, ...times, resource: self(), ...claims })
    .setProtectedHeader({ alg, kid, typ: TYPE, ...header })
    .sign(privateKey, { crit: { [EXTENSION]: true } });
}

function exchange(assertion: string, fields: Record<string, string> = {}, at = first): supertest.Test {
  return supertest(at.url)
    .post('/oauth/token')
    .type('form')
    .send({ grant_type: GRANT, assertion, ...client, ...fields });
}

async function tokenFor(person: Person, claims: JWTPayload = {}): Promise<string> {
  return (await exchange(await assertionFor(person, claims)).expect(200)).body.access_token;
}

function status(token: string, path = '/api/default/mcp/self', at = first): Promise<number> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
  return supertest(at.url)
    .post(path)
    .set(headers)
    .send(message)
    .then((answer) => answer.status);
}

async function refusal(test: supertest.Test) {
  const { status: code, body } = await test;
  return [code, body.error];
}

describe('an assertion of the identity provider', () => {
  it('is a token of the person for the resource that it names, without a refresh token', async () => {
    const person = await newPerson();
    const { body } = await exchange(await assertionFor(person)).expect(200);
    expect(body).toEqual({ access_token: expect.any(String), expires_in: 3600, scope: 'mcp', token_type: 'Bearer' });
    expect(await status(body.access_token)).toBe(200);
    expect(await status(body.access_token, '/api/default/mcp/self', second)).toBe(200);
    expect(await status(body.access_token, '/api/other/mcp/self')).toBe(401);
    const api = await supertest(first.url)
      .get('/api/default/tools')
      .set('authorization', `Bearer ${body.access_token}`);
    expectProblem(api, 401, 'credential_invalid');
    const [event] = (await first.tool('AUDIT_EVENTS_LIST', { limit: 1 }).expect(200)).body.items;
    expect(event).toMatchObject({
      event: 'grant.created',
      actor: { user_id: person.userId, client_id: client.client_id },
      changes: { resource: { to: '/api/default/mcp/self' } },
    });
  });

  it('is what an MCP client of the field presents', async () => {
    const person = await newPerson();
    const { client_id: clientId, client_secret: clientSecret } = client;
    const asked: object[] = [];
    const authProvider = new CrossAppAccessProvider({
      clientId,
      clientSecret,
      expectedIssuer: first.url,
      assertion: ({ authorizationServerUrl: aud, resourceUrl: resource, scope }) => {
        asked.push({ aud, resource });
        return assertionFor(person, { aud, resource, scope });
      },
    });
    const connected = new Client({ name: 'test', version: '1.0.0' });
    await connected.connect(new StreamableHTTPClientTransport(new URL(self()), { authProvider }));
    expect((await connected.listTools()).tools.map(({ name }) => name)).toContain('MEMBER_LIST');
    await connected.close();
    expect(asked).toHaveLength(1);
  });

  it('names the person by its subject once it is linked, whatever the address', async () => {
    const person = await newPerson();
    await tokenFor(person);
    await exchange(await assertionFor(person, { email: undefined, email_verified: undefined })).expect(200);
    const stranger = await newPerson();
    await exchange(await assertionFor(person, { email: stranger.email })).expect(200);
    const [event] = (await first.tool('AUDIT_EVENTS_LIST', { limit: 1 }).expect(200)).body.items;
    expect(event.actor.user_id).toBe(person.userId);
    const impostor = { ...person, sub: randomUUID() };
    expect(await refusal(exchange(await assertionFor(impostor)))).toEqual([400, 'invalid_grant']);
  });

  it('is not about the person whom another issuer calls so', async () => {
    const person = await newPerson();
    await tokenFor(person);
    const unnamed = { email: undefined, email_verified: undefined };
    const ofOther = await assertionFor(person, unnamed, {}, rival);
    expect(await refusal(exchange(ofOther))).toEqual([400, 'invalid_grant']);
    // The address links a second issuer, which may use the same subject and the same ids of assertions.
    const jti = randomUUID();
    await exchange(await assertionFor(person, { jti }, {}, rival)).expect(200);
    await exchange(await assertionFor(person, { ...unnamed, jti })).expect(200);
    expect(await refusal(exchange(await assertionFor(person, { jti }, {}, rival)))).toEqual([400, 'invalid_grant']);
  });

  it('finds the account whatever the case of the address, and nobody whose address only looks like it', async () => {
    const person = await newPerson();
    await first.query('UPDATE users SET email = $2 WHERE id = $1', [person.userId, `kimi-${person.sub}@example.com`]);
    for (const email of [`\u212Aimi-${person.sub}@example.com`, `k\u0130mi-${person.sub}@example.com`, ' ', '\u0000']) {
      expect(await refusal(exchange(await assertionFor({ ...person, email })))).toEqual([400, 'invalid_grant']);
    }
    await exchange(await assertionFor({ ...person, email: `KIMI-${person.sub}@EXAMPLE.com` })).expect(200);
  });

  it('can be as wrong about the time as clocks are, and works once all the same', async () => {
    const person = await newPerson();
    for (const times of [
      { iat: secondsFromNow(-60), exp: secondsFromNow(-20) },
      { iat: secondsFromNow(20), exp: 1e300 },
      { iat: secondsFromNow(-3_620), exp: secondsFromNow(86_400) },
    ]) {
      const assertion = await assertionFor(person, times);
      await exchange(assertion).expect(200);
      expect(await refusal(exchange(assertion, {}, second))).toEqual([400, 'invalid_grant']);
    }
  });

  it('is announced', async () => {
    const { body } = await supertest(first.url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body.grant_types_supported).toContain(GRANT);
    expect(body.authorization_grant_profiles_supported).toEqual(['urn:ietf:params:oauth:grant-profile:id-jag']);
  });

  it('works once, also at two processes at once', async () => {
    const person = await newPerson();
    const assertion = await assertionFor(person);
    const answers = await Promise.all([first, second, first, second].map((at) => exchange(assertion, {}, at)));
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, 400, 400, 400]);
    expect(await refusal(exchange(assertion))).toEqual([400, 'invalid_grant']);
    const grants = (await first.tool('OAUTH_GRANT_LIST').expect(200)).body.items;
    expect(grants.filter(({ user_id: id }: { user_id: string }) => id === person.userId)).toHaveLength(1);
  });

  it('is not used up by a client for which it is not', async () => {
    const person = await newPerson();
    const assertion = await assertionFor(person);
    expect(await refusal(exchange(assertion, await makeClient()))).toEqual([400, 'invalid_grant']);
    await exchange(assertion).expect(200);
  });

  it('opens no more than the scopes that it names', async () => {
    const person = await newPerson();
    await exchange(await assertionFor(person, { scope: 'mcp other', aud: `${first.url}/` })).expect(200);
    await exchange(await assertionFor(person, { scope: ['mcp', 'other'] })).expect(200);
    for (const scope of ['other', ['other'], [], '']) {
      expect(await refusal(exchange(await assertionFor(person, { scope })))).toEqual([400, 'invalid_scope']);
    }
    for (const scope of [null, {}, ['mcp', 7]]) {
      expect(await refusal(exchange(await assertionFor(person, { scope })))).toEqual([400, 'invalid_grant']);
    }
    const asked = { scope: 'api' };
    expect(await refusal(exchange(await assertionFor(person), asked))).toEqual([400, 'invalid_scope']);
  });

  it('opens what the request repeats, and nothing else', async () => {
    const person = await newPerson();
    await exchange(await assertionFor(person), { resource: `${self()}/` }).expect(200);
    const resource = `${first.url}/api/default`;
    expect(await refusal(exchange(await assertionFor(person), { resource }))).toEqual([400, 'invalid_target']);
  });
});

describe('is refused:', () => {
  const wrong: [string, JWTPayload | (() => JWTPayload), object?][] = [
    ['for another authorization server', { aud: 'https://elsewhere.example' }],
    ['for two of them', () => ({ aud: ['https://elsewhere.example', first.url] })],
    ['for the audience of bearer tokens', { aud: AUDIENCE }],
    ['for another client', { client_id: 'somebody' }],
    ['for no client', { client_id: undefined }],
    ['for several clients', { client_id: ['a'] }],
    ['expired', { exp: secondsFromNow(-60) }],
    ['without an end', { exp: undefined as never }],
    ['issued in the future', { iat: secondsFromNow(600) }],
    ['issued long ago', { iat: secondsFromNow(-7_200), exp: secondsFromNow(86_400) }],
    ['without a time', { iat: undefined as never }],
    ['not valid yet', { nbf: secondsFromNow(600) }],
    ['without an id', { jti: undefined as never }],
    ['with an id that is no text', { jti: 1 as never }],
    ['without a subject', { sub: undefined as never }],
    ['with a subject that the database cannot store', { sub: 'a\u0000b' }],
    ['with a subject that is no Unicode', { sub: '\ud800' }],
    ['with a subject of 1 kB', { sub: 'x'.repeat(1_000) }],
    ['for no resource', { resource: undefined }],
    ['for several resources', { resource: ['https://a.example', 'https://b.example'] }],
    ['of an unknown issuer', { iss: 'https://elsewhere.example' }],
    ['of 40 kB', { padding: 'x'.repeat(30_000) }],
    ['with an ordinary type', {}, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['with an unknown key', {}, { kid: 'key-0' }],
    ['with an extension that must be understood', {}, { crit: [EXTENSION], [EXTENSION]: 1 }],
  ];
  it.each(wrong)('%s', async (_what, claims, header = {}) => {
    const changes = typeof claims === 'function' ? claims() : claims;
    const assertion = await assertionFor(await newPerson(), changes, header);
    expect(await refusal(exchange(assertion))).toEqual([400, 'invalid_grant']);
  });

  it.each([
    ['of another organization', () => `${first.url}/api/${other.slug}/mcp/self`, 'invalid_grant'],
    ['that does not exist', () => `${first.url}/api/default/mcp/${randomUUID()}`, 'invalid_grant'],
    ['of another service', () => 'https://elsewhere.example/api/default/mcp/self', 'invalid_target'],
    ['that is rubbish', () => 'rubbish', 'invalid_target'],
    ['of another organization, by a detour', () => `${self()}/../../../${other.slug}/mcp/self`, 'invalid_grant'],
    ['of another organization, encoded', () => `${self()}/%2E%2e/%2e./../${other.slug}/mcp/self`, 'invalid_grant'],
    ['at another port', () => self().replace(/:\d+/, ':9'), 'invalid_target'],
    ['with a user', () => self().replace('://', '://a@'), 'invalid_target'],
    ['with a password', () => self().replace('://', '://:a@'), 'invalid_target'],
    ['with a query', () => `${self()}?a`, 'invalid_target'],
    ['with a fragment', () => `${self()}#a`, 'invalid_target'],
    ['in an organization of look-alike letters', () => self().replace('default', 'd\u0435fault'), 'invalid_target'],
  ])('a resource %s', async (_what, resource, error) => {
    const assertion = await assertionFor(await newPerson(), { resource: resource() });
    expect(await refusal(exchange(assertion))).toEqual([400, error]);
  });

  it('an issuer that may not vouch for people, and a key of another', async () => {
    const person = await newPerson();
    for (const assertion of [
      await assertionFor(person, {}, {}, plain),
      await assertionFor(person, { iss: issuer.issuer }, {}, plain),
      await assertionFor(person, {}, {}, { ...plain, issuer: issuer.issuer, key: await makeIssuerKey('ES256') }),
    ])
      expect(await refusal(exchange(assertion))).toEqual([400, 'invalid_grant']);
  });

  it('the signature of a key that the assertion brings', async () => {
    const person = await newPerson();
    const stranger = await makeIssuerKey('ES256');
    const jwk = await exportJWK(stranger.publicKey);
    const { kid } = issuer.key;
    for (const header of [
      { jwk },
      { jku: 'http://127.0.0.1:9/keys' },
      { x5c: ['AAAA'] },
      { x5u: 'http://127.0.0.1:9/' },
    ]) {
      const assertion = await assertionFor(person, {}, { kid, ...header }, { ...issuer, key: stranger });
      expect(await refusal(exchange(assertion))).toEqual([400, 'invalid_grant']);
    }
  });

  it('no signature, and the public key as a secret', async () => {
    const person = await newPerson();
    const [, claims] = (await assertionFor(person)).split('.');
    const spki = await exportSPKI(issuer.key.publicKey);
    for (const header of [
      { alg: 'none', typ: TYPE },
      { alg: 'HS256', typ: TYPE, kid: issuer.key.kid },
    ]) {
      const text = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${claims}`;
      const signature = header.alg === 'none' ? '' : createHmac('sha256', spki).update(text).digest('base64url');
      expect(await refusal(exchange(`${text}.${signature}`))).toEqual([400, 'invalid_grant']);
    }
  });

  it.each([['rubbish'], ['a.b.c'], ['']])('the text "%s"', async (assertion) => {
    const { status: code } = await exchange(assertion);
    expect(code).toBe(400);
  });

  it('a person who is no member, or has no verified address', async () => {
    const stranger = { userId: '', email: newEmail(), sub: randomUUID() };
    const outsider = newEmail();
    await addPerson({ query: first.query, org: other.slug }, { email: outsider, role: 'admin' });
    const member = await newPerson();
    for (const assertion of [
      await assertionFor(stranger),
      await assertionFor({ ...stranger, email: outsider }),
      await assertionFor(member, { email_verified: false }),
      await assertionFor(member, { email_verified: 'true' }),
      await assertionFor(member, { email: undefined }),
    ])
      expect(await refusal(exchange(assertion))).toEqual([400, 'invalid_grant']);
  });

  it('a client of another organization, one without a secret, and one without the grant', async () => {
    const person = await newPerson();
    const foreign = await makeClient(other.key, other.slug);
    const ofForeign = await assertionFor(person, { client_id: foreign.client_id });
    expect(await refusal(exchange(ofForeign, foreign))).toEqual([400, 'invalid_grant']);
    const registration = { client_name: 'x', redirect_uris: ['https://a.example/'] };
    const register = async (metadata: object) =>
      (
        await supertest(first.url)
          .post('/oauth/register')
          .send({ ...registration, ...metadata })
          .expect(201)
      ).body;
    const open = await register({ token_endpoint_auth_method: 'none', grant_types: ['authorization_code', GRANT] });
    const ofOpen = await assertionFor(person, { client_id: open.client_id });
    const { client_secret: _none, ...withoutSecret } = { ...client, client_id: open.client_id };
    const answer = await supertest(first.url)
      .post('/oauth/token')
      .type('form')
      .send({ grant_type: GRANT, assertion: ofOpen, ...withoutSecret });
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
    const ordinary = await register({ token_endpoint_auth_method: 'client_secret_post' });
    const ofOrdinary = await assertionFor(person, { client_id: ordinary.client_id });
    const credentials = { client_id: ordinary.client_id, client_secret: ordinary.client_secret };
    expect(await refusal(exchange(ofOrdinary, credentials))).toEqual([400, 'invalid_request']);
    const wrongSecret = { client_secret: 'wrong' };
    expect(await refusal(exchange(await assertionFor(person), wrongSecret))).toEqual([401, 'invalid_client']);
  });

  it('an assertion as a bearer token, although its audience is right', async () => {
    const person = await newPerson();
    const { alg, kid, privateKey } = issuer.key;
    for (const typ of [TYPE, `application/${TYPE}`, TYPE.toUpperCase()]) {
      const claims = { iss: issuer.issuer, aud: AUDIENCE, email: person.email, email_verified: true };
      const token = new SignJWT({ ...claims, exp: secondsFromNow(60) }).setProtectedHeader({ alg, kid, typ });
      expect(await status(await token.sign(privateKey))).toBe(401);
    }
    const ordinary = await issuer.sign({ email: person.email });
    expect(await status(ordinary)).toBe(200);
  });
});

describe('a token for an assertion', () => {
  it('ends with the membership, and with the grant', async () => {
    const [leaves, revokes] = [await newPerson(), await newPerson()];
    const [left, revoked] = [await tokenFor(leaves), await tokenFor(revokes)];
    expect([await status(left), await status(revoked)]).toEqual([200, 200]);
    await first.query('DELETE FROM members WHERE user_id = $1', [leaves.userId]);
    const grants = (await first.tool('OAUTH_GRANT_LIST').expect(200)).body.items;
    const { id } = grants.find((grant: { user_id: string }) => grant.user_id === revokes.userId);
    await first.tool('OAUTH_GRANT_REVOKE', { id }).expect(200);
    await eventually(async () => expect(await status(left, undefined, second)).toBe(401));
    await eventually(async () => expect(await status(revoked, undefined, second)).toBe(401));
    expect(await refusal(exchange(await assertionFor(leaves)))).toEqual([400, 'invalid_grant']);
  });

  it('waits for keys that cannot be read', async () => {
    const person = await newPerson();
    silent.respond = (_request, response) => void response.writeHead(500).end();
    const { status: code, headers, body } = await exchange(await assertionFor(person, {}, {}, silent));
    expect([code, body.error]).toEqual([503, 'temporarily_unavailable']);
    expect(headers['retry-after']).toBe('1');
  });
});
