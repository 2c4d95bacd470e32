import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportSPKI, type JWTPayload, SignJWT } from 'jose';
import supertest from 'supertest';
import { newId } from '../../../src/core/ids.js';
import { createAgent, createThread, openStream } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import {
  AUDIENCE,
  type IssuerServer,
  makeIssuerKey,
  secondsFromNow,
  startIssuer,
} from '../../support/issuer-server.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { eventually } from '../../support/eventually.js';

const EMAIL = 'ann@example.com';

let issuer: IssuerServer;
let strict: IssuerServer;
/** Trusted issuers whose keys the service has not read. */
let unread: IssuerServer[];
let service: TestService;
let userId: string;
let otherId: string;

beforeAll(async () => {
  [issuer, strict] = await Promise.all([startIssuer(), startIssuer()]);
  unread = await Promise.all(Array.from({ length: 5 }, () => startIssuer()));
  const trusted = [
    { issuer: issuer.issuer, audience: AUDIENCE },
    { issuer: strict.issuer, audience: AUDIENCE, algorithms: ['RS256'], email_claim: 'mail' },
    ...unread.map((one) => ({ issuer: one.issuer, audience: AUDIENCE })),
  ];
  service = await startTestService({ env: { TRUSTED_ISSUERS: JSON.stringify(trusted) } });
  otherId = (await startSecondOrganization(service, 'other')).id;
  userId = await makeMember('Ann@Example.com', 'default', 'admin');
});
afterAll(async () => {
  await service?.close();
  await Promise.all([issuer, strict, ...(unread ?? [])].map((one) => one?.close()));
});
beforeEach(() => {
  issuer.respond = undefined;
  issuer.named = issuer.issuer;
});

async function makeMember(email: string, slug: string, role: string): Promise<string> {
  const id = newId();
  await service.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $2)', [id, email]);
  await join(id, slug, role);
  return id;
}

async function join(id: string, slug: string, role: string): Promise<void> {
  await service.query(
    'INSERT INTO members (organization_id, user_id, role) SELECT id, $1, $3 FROM organizations WHERE slug = $2',
    [id, slug, role],
  );
}

function call(token: string, org = 'default', tool = 'MODEL_TIERS_GET'): supertest.Test {
  return supertest(service.url).post(`/api/${org}/tools/${tool}`).set('authorization', `Bearer ${token}`).send({});
}

const signed = (claims: JWTPayload = {}): Promise<string> => issuer.sign({ email: EMAIL, ...claims });

/** Resolves with the answer that is no longer `status`. */
function untilNot(status: number, send: () => supertest.Test): Promise<supertest.Response> {
  return eventually(async () => {
    const answer = await send();
    return answer.status !== status && answer;
  });
}

describe('a token of a trusted issuer', () => {
  it('is accepted for the member with its e-mail address, whatever the case, and is on record with the person', async () => {
    const token = await signed({ azp: 'chat-app' });
    await call(token).set('x-request-id', 'by-issuer').expect(200);
    const where = { field: ['request_id'], operator: 'eq', value: 'by-issuer' };
    const { body } = await service.tool('MONITORING_LOGS_LIST', { where }).expect(200);
    expect(body.items).toMatchObject([
      { user_id: userId, user_email: 'Ann@Example.com', api_key_id: null, door: 'api' },
    ]);
  });

  it('is no token of a person whose address the database would take its own for', async () => {
    await makeMember('kimi@example.com', 'default', 'admin');
    await call(await signed({ email: 'KIMI@example.com' })).expect(200);
    for (const email of ['k\u0130mi@example.com', '\u212Aimi@example.com']) {
      expectProblem(await call(await signed({ email })), 401, 'credential_invalid');
    }
  });

  it.each(['RS256', 'ES384', 'EdDSA'])('can be signed with %s', async (alg) => {
    await issuer.rotate(alg);
    const token = await signed();
    expect((await untilNot(401, () => call(token))).status).toBe(200);
  });

  it.each<[string, () => JWTPayload]>([
    ['a list of audiences', () => ({ aud: ['another', AUDIENCE] })],
    ['the API of the organization as its audience', () => ({ aud: `${service.url}/api/default` })],
    ['the same with a trailing slash', () => ({ aud: `${service.url}/api/default/` })],
    ['an end within the skew of 30 s', () => ({ exp: secondsFromNow(-20) })],
    ['a beginning within the skew of 30 s', () => ({ nbf: secondsFromNow(20) })],
  ])('with %s is accepted', async (_what, claims) => {
    await call(await signed(claims())).expect(200);
  });

  it.each<[string, string, () => JWTPayload]>([
    ['an end before the skew', 'credential_expired', () => ({ exp: secondsFromNow(-40) })],
    ['a beginning after the skew', 'credential_invalid', () => ({ nbf: secondsFromNow(60) })],
    ['no end', 'credential_invalid', () => ({ exp: undefined })],
    ['another audience', 'credential_invalid', () => ({ aud: 'another' })],
    ['a resource of another service', 'credential_invalid', () => ({ aud: 'https://elsewhere.example/api/default' })],
    [
      'several resources',
      'credential_invalid',
      () => ({ aud: [`${service.url}/api/default`, `${service.url}/api/other`] }),
    ],
    ['no audience', 'credential_invalid', () => ({ aud: undefined })],
    ['an unverified e-mail address', 'credential_invalid', () => ({ email_verified: false })],
    ['an e-mail address verified as text', 'credential_invalid', () => ({ email_verified: 'true' })],
    ['no word on verification', 'credential_invalid', () => ({ email_verified: undefined })],
    ['no e-mail address', 'credential_invalid', () => ({ email: undefined })],
    ['an e-mail address that the database cannot store', 'credential_invalid', () => ({ email: `a\u0000${EMAIL}` })],
    ['the e-mail address of a stranger', 'credential_invalid', () => ({ email: 'stranger@example.com' })],
    ['an untrusted issuer', 'credential_invalid', () => ({ iss: 'http://127.0.0.1:9' })],
    ['the issuer with a trailing slash', 'credential_invalid', () => ({ iss: `${issuer.issuer}/` })],
    ['another trusted issuer', 'credential_invalid', () => ({ iss: strict.issuer })],
  ])('with %s is rejected', async (_what, code, claims) => {
    const token = await signed(claims());
    const answer = await call(token);
    expectProblem(answer, 401, code);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(answer.text).not.toContain(token.split('.')[2]);
  });

  it('for another resource of the service is rejected', async () => {
    const token = await signed({ aud: `${service.url}/api/default/mcp/self` });
    expectProblem(await call(token), 401, 'credential_invalid');
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const self = supertest(service.url).post('/api/default/mcp/self').set('authorization', `Bearer ${token}`);
    await self.send(rpc).expect(200);
  });

  it('is narrowed by its scope', async () => {
    await call(await signed({ scope: 'openid api' })).expect(200);
    expectProblem(await call(await signed({ scope: 'openid mcp' })), 403, 'insufficient_scope');
    await call(await signed({ scope: ['openid', 'api'] })).expect(200);
    expectProblem(await call(await signed({ scope: ['openid', 'mcp'] })), 403, 'insufficient_scope');
    for (const scope of [null, 7, {}, [7], [['api']]]) {
      expectProblem(await call(await signed({ scope })), 401, 'credential_invalid');
    }
  });

  it('with a scope does not reach the password of its own person, which opens everything', async () => {
    const where = { field: ['user_id'], operator: 'eq', value: userId };
    const { body } = await service.tool('MEMBER_LIST', { where }).expect(200);
    const [{ id }] = body.items;
    const token = await signed({ scope: 'api' });
    expectProblem(await service.tool('MEMBER_RESET', { id }, token), 403, 'permission_widening');
  });

  it('belongs to the organizations of the person only', async () => {
    expectProblem(await call(await signed(), 'other'), 403, 'organization_mismatch');
    expectProblem(await call(await signed(), 'unknown'), 403, 'organization_mismatch');
  });

  it('acts in each organization of the person with the role there', async () => {
    const id = await makeMember('both@example.com', 'default', 'admin');
    await join(id, 'other', 'member');
    const token = await issuer.sign({ email: 'both@example.com' });
    await call(token).expect(200);
    expectProblem(await call(token, 'other'), 403, 'permission_denied');
    expect(otherId).toBeDefined();
  });
});

describe('a forged token', () => {
  const parts = (header: object, claims: object): string =>
    [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const claims = (): object => ({
    iss: issuer.issuer,
    aud: AUDIENCE,
    exp: secondsFromNow(300),
    email: EMAIL,
    email_verified: true,
  });

  it.each(['none', 'None', 'NONE'])('without a signature (alg %s) is rejected', async (alg) => {
    const body = parts({ alg, kid: issuer.key.kid }, claims());
    for (const token of [`${body}.`, `${body}.AAAA`]) expectProblem(await call(token), 401, 'credential_invalid');
  });

  it('signed with HS256 and the public key as its secret is rejected', async () => {
    const body = parts({ alg: 'HS256', kid: issuer.key.kid }, claims());
    const secret = await exportSPKI(issuer.key.publicKey);
    const signature = createHmac('sha256', secret).update(body).digest('base64url');
    expectProblem(await call(`${body}.${signature}`), 401, 'credential_invalid');
  });

  it('signed with a key of its own under a known id, or one in its header, is rejected', async () => {
    const { privateKey } = await makeIssuerKey('ES256');
    for (const header of [{}, { jwk: { kty: 'EC' } }, { jku: 'http://127.0.0.1:9/keys' }]) {
      const token = await new SignJWT({ ...claims() })
        .setProtectedHeader({ alg: 'ES256', kid: issuer.key.kid, ...header })
        .sign(privateKey);
      expectProblem(await call(token), 401, 'credential_invalid');
    }
  });

  it('with changed claims is rejected', async () => {
    const [header, , signature] = (await signed()).split('.');
    const changed = Buffer.from(JSON.stringify({ ...claims(), exp: secondsFromNow(9000) })).toString('base64url');
    expectProblem(await call(`${header}.${changed}.${signature}`), 401, 'credential_invalid');
  });

  it.each(['a.b.c', '..', 'e30.e30.e30', `${'a'.repeat(9000)}.a.a`])(
    'of another form is rejected: %.20s',
    async (token) => {
      expectProblem(await call(token), 401, 'credential_invalid');
    },
  );
});

describe('the settings of an issuer', () => {
  it('limit the algorithms and name the claim with the e-mail address', async () => {
    expectProblem(await call(await strict.sign({ mail: EMAIL })), 401, 'credential_invalid');
    await strict.rotate('RS256');
    const token = await strict.sign({ mail: EMAIL });
    expect((await untilNot(401, () => call(token))).status).toBe(200);
    expectProblem(await call(await strict.sign({ email: EMAIL })), 401, 'credential_invalid');
  });
});

describe('the keys of an issuer', () => {
  it('are read again when they were rotated, and old ones stop working', async () => {
    const old = issuer.key;
    await call(await signed()).expect(200);
    await issuer.rotate();
    const token = await signed();
    expect((await untilNot(401, () => call(token))).status).toBe(200);
    // Not the token from above, which the service may remember for a moment.
    const another = await issuer.sign({ email: EMAIL, jti: newId() }, old);
    expectProblem(await call(another), 401, 'credential_invalid');
  });

  it('are not read for every token with an unknown key id', async () => {
    const reads = issuer.reads;
    const since = Date.now();
    for (let n = 0; n < 20; n++) {
      expectProblem(
        await call(await issuer.sign({ email: EMAIL }, await makeIssuerKey('ES256'))),
        401,
        'credential_invalid',
      );
    }
    expect(issuer.reads - reads).toBeLessThanOrEqual(1 + (Date.now() - since) / 2000);
  });

  describe('that were not read yet', () => {
    const disturbances: [string, (disturbed: IssuerServer) => void][] = [
      ['that answers 500', (disturbed) => (disturbed.respond = (_request, response) => response.writeHead(500).end())],
      [
        'that redirects',
        (disturbed) =>
          (disturbed.respond = (_request, response) => response.writeHead(302, { location: '/keys' }).end()),
      ],
      [
        'that answers more than 64 KiB',
        (disturbed) =>
          (disturbed.respond = (_request, response) => response.end(`{"keys":[],"x":"${'x'.repeat(70_000)}"}`)),
      ],
      ['that answers no JSON', (disturbed) => (disturbed.respond = (_request, response) => response.end('<html>'))],
      ['whose metadata names another issuer', (disturbed) => (disturbed.named = 'https://elsewhere.example')],
    ];

    it.each(disturbances)('cannot come from a server %s', async (what, disturb) => {
      const disturbed = unread[disturbances.findIndex(([name]) => name === what)] as IssuerServer;
      disturb(disturbed);
      const answer = await call(await disturbed.sign({ email: EMAIL }));
      expectProblem(answer, 503, 'service_unavailable');
      expect(answer.headers['retry-after']).toBe('2');
    });
  });
});

describe('a membership', () => {
  it('that ends takes its tokens with it, with open streams', async () => {
    const id = await makeMember('leaver@example.com', 'default', 'admin');
    const token = await issuer.sign({ email: 'leaver@example.com' });
    const threadId = await createThread(service, await createAgent(service));
    const stream = await openStream(service.url, 'default', threadId, token, { query: { follow: 'true' } });
    expect(stream.status).toBe(200);
    const ended = expect(stream.collectUntilDone()).rejects.toThrow();
    await call(token).expect(200);
    await service.query('DELETE FROM members WHERE user_id = $1', [id]);
    expectProblem(await untilNot(200, () => call(token)), 401, 'credential_invalid');
    await ended;
  });

  it('whose role changes has its permissions at once', async () => {
    const id = await makeMember('mover@example.com', 'default', 'admin');
    const token = await issuer.sign({ email: 'mover@example.com' });
    await call(token).expect(200);
    await service.query(`UPDATE members SET role = 'member' WHERE user_id = $1`, [id]);
    expectProblem(await untilNot(200, () => call(token)), 403, 'permission_denied');
  });

  it('makes browser tokens that end with it', async () => {
    const id = await makeMember('widget@example.com', 'default', 'admin');
    const token = await issuer.sign({ email: 'widget@example.com' });
    const threadId = await createThread(service, await createAgent(service));
    const { body } = await supertest(service.url)
      .post('/api/default/tools/THREAD_TOKEN_CREATE')
      .set('authorization', `Bearer ${token}`)
      .send({ thread_id: threadId, permissions: ['read'] })
      .expect(200);
    const read = (): supertest.Test => service.tool('COLLECTION_THREADS_GET', { id: threadId }, body.token);
    await read().expect(200);
    await service.query('DELETE FROM members WHERE user_id = $1', [id]);
    expectProblem(await untilNot(200, read), 401, 'credential_invalid');
  });
});
