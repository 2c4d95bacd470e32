import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../support/proxied-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { newId } from '../../src/common/ids.js';
import { rpc } from '../support/proxy-calls.js';
import { follow } from './oauth-client.js';

const REDIRECT = 'http://127.0.0.1:33418/callback';

let upstream: ProxiedUpstream;
let url: string;
let browser: Browser;
let email: string;
let path: string;
let resource: string;

beforeAll(async () => {
  upstream = await startProxiedUpstream();
  url = upstream.app.url;
  email = newEmail();
  await addPerson(upstream.app, { email, name: 'Olga', role: 'admin' });
  browser = new Browser(url);
  await browser.signIn(email);
  path = await upstream.connected();
  resource = url + path;
});
afterAll(() => upstream?.close());

interface Flow {
  clientId: string;
  verifier: string;
  /** The parameters of the authorization request. */
  params: Record<string, string>;
}

async function register(metadata: object = {}): Promise<supertest.Response> {
  return supertest(url)
    .post('/oauth/register')
    .send({ client_name: 'Test', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', ...metadata });
}

async function newFlow(changes: Record<string, string | undefined> = {}, metadata: object = {}): Promise<Flow> {
  const { body } = await register(metadata);
  const verifier = randomBytes(32).toString('base64url');
  const params = {
    response_type: 'code',
    client_id: body.client_id,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    state: 'state',
    ...changes,
  };
  const present = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { clientId: body.client_id, verifier, params: Object.fromEntries(present) };
}

function authorizePath({ params }: Flow): string {
  return `/oauth/authorize?${new URLSearchParams(params).toString()}`;
}

/** What the client receives at its redirect. */
async function answerOf(flow: Flow, decision?: string): Promise<URLSearchParams> {
  const { searchParams, hash } = new URL(await follow(browser, authorizePath(flow), decision));
  return hash === '' ? searchParams : new URLSearchParams(hash.slice(1));
}

function exchange(flow: Flow, code: string, changes: Record<string, string> = {}): supertest.Test {
  return supertest(url)
    .post('/oauth/token')
    .type('form')
    .send({
      grant_type: 'authorization_code',
      client_id: flow.clientId,
      code,
      redirect_uri: REDIRECT,
      code_verifier: flow.verifier,
      resource,
      ...changes,
    });
}

function refresh(flow: Flow, token: string): supertest.Test {
  return supertest(url)
    .post('/oauth/token')
    .type('form')
    .send({ grant_type: 'refresh_token', client_id: flow.clientId, refresh_token: token });
}

async function tokensOf(flow: Flow): Promise<{ access_token: string; refresh_token: string }> {
  const { body } = await exchange(flow, (await answerOf(flow)).get('code') ?? '').expect(200);
  return body;
}

function callWith(token: string, at = path): supertest.Test {
  return supertest(url)
    .post(at)
    .set({ authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' })
    .send(rpc('tools/list'));
}

/** Waits for the moment at which no process knows the token any longer. */
async function untilRefused(token: string): Promise<void> {
  while ((await callWith(token)).status !== 401);
}

/** Makes the person an admin of another organization, too; returns its slug. */
async function secondOrganizationOf(person: string): Promise<string> {
  const { id, slug } = await startSecondOrganization(upstream.app.app, url, 'second');
  await upstream.app.app.get(DataSource).query(
    `INSERT INTO members (organization_id, user_id, role) SELECT $1, id, 'admin' FROM users WHERE email = $2
       ON CONFLICT DO NOTHING`,
    [id, person],
  );
  return slug;
}

describe('an authorization request', () => {
  it.each([
    ['a redirect that differs by a character', { redirect_uri: `${REDIRECT}/` }],
    ['a redirect of another host', { redirect_uri: 'https://evil.example/callback' }],
    ['an unknown client', { client_id: 'nobody' }],
  ])('with %s is answered with a page, never with a redirect', async (_what, changes) => {
    const answer = await browser.get(authorizePath(await newFlow(changes)));
    expect(answer.status).toBe(400);
    expect(answer.headers['location']).toBeUndefined();
    expect(answer.text).toContain('This sign-in cannot continue');
    expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  it.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no resource', { resource: undefined }, 'invalid_target'],
    ['a resource of another service', { resource: 'https://other.example/api/default/mcp/self' }, 'invalid_target'],
    ['a resource that is no endpoint', { resource: 'PATH/docs' }, 'invalid_target'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ])('with %s gets no code', async (_what, changes, error) => {
    const resolved = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, value?.replace('PATH', url)]),
    );
    const answer = await answerOf(await newFlow(resolved));
    expect(answer.get('error')).toBe(error);
    expect(answer.get('iss')).toBe(url);
    expect(answer.get('state')).toBe('state');
    expect(answer.has('code')).toBe(false);
  });

  it('with several resources gets no code', async () => {
    const flow = await newFlow();
    const answer = new URL(
      await follow(browser, `${authorizePath(flow)}&resource=${encodeURIComponent(url)}/api/default`),
    );
    expect(answer.searchParams.get('error')).toBe('invalid_target');
  });

  it.each([
    ['of an organization that the person does not belong to', '/api/elsewhere'],
    ['of a connection that does not exist', '/api/default/mcp/00000000-0000-4000-8000-000000000000'],
  ])('for a resource %s is denied', async (_what, at) => {
    expect((await answerOf(await newFlow({ resource: url + at }))).get('error')).toBe('access_denied');
  });

  it('that the person denies gets no code', async () => {
    expect((await answerOf(await newFlow(), 'deny')).get('error')).toBe('access_denied');
  });

  it('accepts any port of a loopback redirect, and no other difference', async () => {
    const answer = await follow(
      browser,
      authorizePath(await newFlow({ redirect_uri: REDIRECT.replace('33418', '40001') })),
    );
    expect(answer).toMatch(/^http:\/\/127\.0\.0\.1:40001\/callback\?code=/);
  });
});

describe('the consent page', () => {
  async function pageOf(flow: Flow): Promise<string> {
    const first = await browser.get(authorizePath(flow));
    return String(first.headers['location']);
  }

  it('names the client, the organization and the connection, and allows the redirect of the client', async () => {
    const flow = await newFlow({}, { client_name: '<b>Evil</b> client' });
    let at = await pageOf(flow);
    let page = await browser.get(new URL(at, url).pathname);
    while (page.headers['location'] !== undefined) {
      at = String(page.headers['location']);
      page = await browser.get(new URL(at, url).pathname);
    }
    expect(page.text).toContain('&lt;b&gt;Evil&lt;/b&gt; client');
    expect(page.text).not.toContain('<b>Evil');
    expect(page.headers['content-security-policy']).toContain('form-action');
    expect(page.headers['content-security-policy']).toContain('http://127.0.0.1:33418');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
  });

  it('takes no decision without its CSRF token', async () => {
    const flow = await newFlow();
    let at = new URL(await pageOf(flow), url).pathname;
    let page = await browser.get(at);
    while (page.headers['location'] !== undefined) {
      at = new URL(String(page.headers['location']), url).pathname;
      page = await browser.get(at);
    }
    expect((await browser.post(at, { decision: 'allow' })).status).toBe(403);
  });

  it('opens for nobody else', async () => {
    const at = new URL(await pageOf(await newFlow()), url).pathname;
    const other = new Browser(url);
    const email = newEmail();
    await addPerson(upstream.app, { email, role: 'admin' });
    await other.signIn(email);
    expect((await other.get(at)).status).toBe(404);
  });

  it('sends a browser that is not signed in to the sign-in', async () => {
    const stranger = new Browser(url);
    const first = await stranger.get(authorizePath(await newFlow()));
    const second = await stranger.get(new URL(String(first.headers['location']), url).pathname);
    expect(second.headers['location']).toMatch(/^\/sign-in\?return_to=/);
  });
});

describe('a code', () => {
  it('is exchanged once; the second attempt revokes what the first gave', async () => {
    const flow = await newFlow();
    const code = (await answerOf(flow)).get('code') ?? '';
    const { body } = await exchange(flow, code).expect(200);
    await callWith(body.access_token).expect(200);
    expect((await exchange(flow, code)).body.error).toBe('invalid_grant');
    expect((await refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
    await untilRefused(body.access_token);
  });

  it('is exchanged by one of many concurrent requests at most', async () => {
    const flow = await newFlow();
    const code = (await answerOf(flow)).get('code') ?? '';
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(flow, code)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of answers.filter(({ status }) => status !== 200)) expect(body.error).toBe('invalid_grant');
    for (const { body } of given) {
      await untilRefused(body.access_token);
      expect((await refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
    }
  });

  it.each([
    ['another client', async (): Promise<Record<string, string>> => ({ client_id: (await newFlow()).clientId })],
    ['another verifier', async () => ({ code_verifier: randomBytes(32).toString('base64url') })],
    ['another redirect', async () => ({ redirect_uri: 'http://127.0.0.1:33418/other' })],
  ])('does not open with %s', async (_what, changes) => {
    const flow = await newFlow();
    const code = (await answerOf(flow)).get('code') ?? '';
    const answer = await exchange(flow, code, await changes());
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe('invalid_grant');
  });

  it('gives no token for a resource that was not granted', async () => {
    const flow = await newFlow();
    const code = (await answerOf(flow)).get('code') ?? '';
    const answer = await exchange(flow, code, { resource: `${url}/api/default` });
    expect(answer.body.error).toBe('invalid_target');
  });
});

describe('a refresh token', () => {
  it('rotates, and its second use revokes the whole family, but no other sign-in', async () => {
    const flow = await newFlow();
    const [first, other] = [await tokensOf(flow), await tokensOf(await newFlow())];
    const { body: second } = await refresh(flow, first.refresh_token).expect(200);
    await callWith(second.access_token).expect(200);
    expect((await refresh(flow, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(flow, second.refresh_token)).body.error).toBe('invalid_grant');
    for (const { access_token } of [first, second]) await untilRefused(access_token);
    await callWith(other.access_token).expect(200);
  });

  it('that several requests use at once gives at most one of them tokens, which end with the family', async () => {
    const flow = await newFlow();
    const tokens = await tokensOf(flow);
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(flow, tokens.refresh_token)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of answers.filter(({ status }) => status !== 200)) expect(body.error).toBe('invalid_grant');
    for (const { body } of [{ body: tokens }, ...given]) await untilRefused(body.access_token);
    for (const { body } of given) expect((await refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('of another client is refused and kills nothing', async () => {
    const [flow, thief] = [await newFlow(), await newFlow()];
    const tokens = await tokensOf(flow);
    expect((await refresh(thief, tokens.refresh_token)).body.error).toBe('invalid_grant');
    await refresh(flow, tokens.refresh_token).expect(200);
  });
});

describe('an access token', () => {
  it('opens its resource and nothing else', async () => {
    const { access_token } = await tokensOf(await newFlow());
    await callWith(access_token).expect(200);
    const other = await secondOrganizationOf(email);
    for (const at of [
      await upstream.connected(),
      '/api/default/mcp/self',
      `/api/default/mcp/gateway/${newId()}`,
      `/api/${other}/mcp/self`,
      path.replace('/default/', `/${other}/`),
    ]) {
      const refused = await callWith(access_token, at).expect(401);
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    const api = await supertest(url).get('/api/default/tools').set('authorization', `Bearer ${access_token}`);
    expect(api.status).toBe(401);
  });

  it('for a resource with a trailing slash opens the same endpoint', async () => {
    const flow = await newFlow({ resource: `${resource}/` });
    const code = (await answerOf(flow)).get('code') ?? '';
    const { body } = await exchange(flow, code, { resource: `${resource}/` }).expect(200);
    await callWith(body.access_token).expect(200);
  });

  it('without the scope of the endpoint gets the challenge that names it', async () => {
    const flow = await newFlow({ scope: 'openid' });
    const { access_token } = await tokensOf(flow);
    const refused = await callWith(access_token).expect(403);
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer realm="mcp",resource_metadata="${resource}/.well-known/oauth-protected-resource",error="insufficient_scope",scope="mcp"`,
    );
  });

  it('stops when its grant is revoked at the revocation endpoint', async () => {
    const flow = await newFlow();
    const tokens = await tokensOf(flow);
    const revoke = { token: tokens.refresh_token, client_id: flow.clientId };
    await supertest(url).post('/oauth/revoke').type('form').send(revoke).expect(200);
    expect((await refresh(flow, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('and every other secret is stored under a hash and sealed', async () => {
    const flow = await newFlow();
    const tokens = await tokensOf(flow);
    const rows = await upstream.app.app.get(DataSource).query('SELECT * FROM oauth_records');
    const stored = JSON.stringify(rows);
    for (const secret of [tokens.access_token, tokens.refresh_token]) expect(stored).not.toContain(secret);
    expect(stored).not.toContain(REDIRECT);
  });
});

describe('registration', () => {
  it.each([
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    ['blob:https://a.example/x'],
    ['vbscript:x'],
    ['about:blank'],
    ['http://evil.example/callback'],
    ['https://a.example/callback#fragment'],
  ])('refuses the redirect %s', async (redirect) => {
    const answer = await register({ redirect_uris: [redirect] });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^invalid_(redirect_uri|client_metadata)$/);
  });

  it.each([['two\nlines'], ['a\u0000b'], ['\u202Ereversed'], ['x'.repeat(257)]])(
    'refuses the name %j, which the consent page cannot show',
    async (client_name) => {
      const answer = await register({ client_name });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toBe('invalid_client_metadata');
    },
  );

  it('connects to no address that the client names', async () => {
    let connections = 0;
    const server = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const at = (name: string) => `https://127.0.0.1:${port}/${name}`;
    const metadata = { sector_identifier_uri: at('sector'), jwks_uri: at('keys'), logo_uri: at('logo') };
    try {
      expect((await answerOf(await newFlow({}, metadata))).has('code')).toBe(true);
      expect(connections).toBe(0);
    } finally {
      server.close();
    }
  });

  it("of a client with another's redirect inherits none of its consents", async () => {
    const redirect = 'https://web.example/callback';
    const known = await newFlow({ redirect_uri: redirect }, { redirect_uris: [redirect] });
    expect((await answerOf(known)).has('code')).toBe(true);
    const again = await browser.get(authorizePath(known));
    expect(again.headers['location']).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    const imitator = await newFlow({ redirect_uri: redirect }, { redirect_uris: [redirect] });
    expect((await browser.get(authorizePath(imitator))).headers['location']).toMatch(/^\/oauth\/interaction\//);
    expect((await answerOf(imitator, 'deny')).get('error')).toBe('access_denied');
    const stolen = (await answerOf(known)).get('code') ?? '';
    const answer = await exchange(imitator, stolen, { redirect_uri: redirect });
    expect(answer.body.error).toBe('invalid_grant');
  });

  it('accepts https, loopback and a custom scheme in one client, and matches the scheme exactly', async () => {
    const redirects = ['https://a.example/cb', 'http://localhost:1/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'];
    const metadata = { redirect_uris: redirects, application_type: 'web' };
    const custom = 'cursor://anysphere.cursor-mcp/oauth/callback';
    expect(await follow(browser, authorizePath(await newFlow({ redirect_uri: custom }, metadata)))).toContain(
      'cursor://',
    );
    const wrong = await browser.get(
      authorizePath(await newFlow({ redirect_uri: custom.replace('cursor:', 'cursox:') }, metadata)),
    );
    expect(wrong.status).toBe(400);
  });
});

describe('the metadata', () => {
  it('names the endpoints and what they support', async () => {
    const { body, headers } = await supertest(url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body).toMatchObject({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/oauth/token`,
      registration_endpoint: `${url}/oauth/register`,
      revocation_endpoint: `${url}/oauth/revoke`,
      jwks_uri: `${url}/oauth/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
    expect(body.scopes_supported).toEqual(expect.arrayContaining(['mcp', 'api']));
    expect(headers['access-control-allow-origin']).toBe('*');
  });

  it('follows the loopback name that the client uses', async () => {
    const { body } = await supertest(url.replace('127.0.0.1', 'localhost'))
      .get('/.well-known/oauth-authorization-server')
      .expect(200);
    expect(body.issuer).toBe(url.replace('127.0.0.1', 'localhost'));
  });

  it('is a JSON 404 for unknown documents', async () => {
    const { body } = await supertest(url).get('/.well-known/nothing').expect(404);
    expect(body.code).toBe('unknown_route');
  });
});
