import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { callProxy, errorIn, pathOf, type ProxyAnswer, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { startTestService, type TestService } from '../../support/service.js';
import { findMember } from '../../identity/organizations/organizations.support.js';
import { Issuer } from '../../identity/sign-in/issuer.js';
import { Browser } from '../../identity/sign-in/people.js';
import {
  answerTokenRequests,
  connectEnterprise,
  type Employee,
  employ,
  expireAccount,
  keptTokensOf,
  signInAt,
} from './enterprise.support.js';
import { connectOauth } from './log-in.support.js';
import { ENTERPRISE_CLIENT, type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
/** Less than an ID token must be valid for to be presented. */
const SHORT_S = 5;
const LONG_S = 3600;

describe('a connection to whose upstream the issuer of the sign-in asserts people', () => {
  let service: TestService;
  let issuer: Issuer;
  let upstream: OauthUpstream;
  let id: string;

  beforeAll(async () => {
    issuer = await Issuer.start(() => [`${service.url}/auth/oidc/callback`]);
    issuer.exchanges.clientId = ENTERPRISE_CLIENT.client_id;
    upstream = await startOauthUpstream(undefined, issuer.url);
    service = await startTestService({ env: issuer.env() });
    id = await connectEnterprise(service, upstream.url);
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
    issuer?.close();
  });
  beforeEach(() => {
    upstream.calls.length = 0;
    issuer.exchanges.requests.length = 0;
  });
  afterEach(() => {
    Object.assign(issuer, { idTokenTtlS: LONG_S, hasRefreshTokens: false });
    Object.assign(issuer.exchanges, { claims: {}, issuedTokenType: ID_JAG, refusal: undefined });
    issuer.intercept = () => false;
    upstream.intercept = () => false;
  });

  const call = ({ key }: Pick<Employee, 'key'>, connectionId = id): Promise<ProxyAnswer> =>
    callProxy(service, pathOf(service, connectionId), { key, body: toolCall('whoami') });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const page = (): string => `${service.url}/connections/${id}/authorize`;
  const signedIn = async (): Promise<Employee> => {
    const person = await employ(service);
    await signInAt(issuer, person);
    return person;
  };
  const expectSignInRequired = async (person: Employee): Promise<void> => {
    const answer = await call(person);
    expect(answer.status).toBe(403);
    const error = errorIn(answer);
    expect(error?.message).toContain(`Sign in again at the console: ${page()}`);
    expect(error?.data).toMatchObject({ code: 'upstream_authorization_required', authorization_url: page() });
  };

  it('calls as the person of the sign-in, with one exchange for many calls', async () => {
    const ada = await signedIn();
    const answers = await Promise.all([call(ada), call(ada), call(ada)]);
    expect(answers.map(textOf)).toEqual([ada.sub, ada.sub, ada.sub]);
    expect(textOf(await call(ada))).toBe(ada.sub);
    expect(issuer.exchanges.requests).toEqual([
      {
        sub: ada.sub,
        subject_token: expect.any(String),
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        requested_token_type: ID_JAG,
        audience: upstream.issuer,
        resource: upstream.url,
        scope: 'tools',
      },
    ]);
    const [kept] = await keptTokensOf(service, ada);
    expect(kept?.tokens).not.toContain(issuer.exchanges.requests[0]?.subject_token?.split('.')[1]);
  });

  it('never uses the token of another person', async () => {
    const [ada, bob] = [await signedIn(), await signedIn()];
    const answers = await Promise.all([call(ada), call(bob), call(ada), call(bob)]);
    expect(answers.map(textOf)).toEqual([ada.sub, bob.sub, ada.sub, bob.sub]);
    for (const { account, sessionAccount } of upstream.calls) expect(sessionAccount).toBe(account);
    const organization = errorIn(await call({ key: service.apiKey }));
    expect(organization?.data.code).toBe('permission_denied');
  });

  it('requests the configured scopes', async () => {
    const scoped = await connectEnterprise(service, upstream.url, { scope: 'tools more' });
    expect(textOf(await call(await signedIn(), scoped))).toEqual(expect.any(String));
    expect(issuer.exchanges.requests).toMatchObject([{ scope: 'tools more' }]);
  });

  it('tells a person who has not signed in with the issuer where to do it', async () => {
    const ada = await employ(service);
    await expectSignInRequired(ada);
    await signInAt(issuer, ada);
    const { authorization_url: url } = await succeed<{ authorization_url: string }>(service, 'CONNECTION_AUTHORIZE', {
      id,
    });
    expect(url).toBe(page());
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });

  it('shows on its page whether there is a sign-in, and leads to another one', async () => {
    const ada = await signedIn();
    const path = `/connections/${id}/authorize`;
    const ready = await ada.browser.get(path);
    expect(ready.text).toContain('It can be used now');
    expect(ready.text).toContain(`href="/auth/oidc?return_to=${encodeURIComponent(path)}"`);
    await service.query("UPDATE id_tokens SET expires_at = now() - interval '1 hour'");
    expect((await ada.browser.get(path)).text).toContain('There is none that is valid.');
  });

  it('has no log-in at the upstream to continue with', async () => {
    const ada = await signedIn();
    const { text } = await ada.browser.get(`/connections/${await connectOauth(service, upstream)}/authorize`);
    const [, query = ''] = /\/continue\?([^"]*)"/.exec(text) ?? [];
    const refused = await ada.browser.get(`/connections/${id}/authorize/continue?${query.replaceAll('&amp;', '&')}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('The account of the connection is that of the sign-in with the issuer.');
  });

  it('ends with the sign-in: at sign-out, with the membership, and for another issuer', async () => {
    const [ada, bob, cleo, dan] = [await signedIn(), await signedIn(), await signedIn(), await signedIn()];
    for (const person of [ada, bob, cleo, dan]) expect(textOf(await call(person))).toBe(person.sub);
    await ada.browser.submit('/sign-in', {});
    await succeed(service, 'MEMBER_REMOVE', { id: (await findMember(service, bob.email)).id });
    await service.query(
      `UPDATE id_tokens SET issuer = 'https://former.example' FROM browser_sessions s
        WHERE s.id = session_id AND s.user_id = $1`,
      [cleo.id],
    );
    await service.query('DELETE FROM browser_sessions WHERE user_id = $1', [dan.id]);
    for (const person of [ada, bob, dan]) expect(await keptTokensOf(service, person)).toEqual([]);
    await expireAccount(service, cleo);
    for (const person of [ada, cleo, dan]) await eventually(() => expectSignInRequired(person));
    await eventually(async () => expect((await call(bob)).status).toBe(401));
  });

  it('lets a sign-in end while an account is opened for it', async () => {
    const own = await connectEnterprise(service, upstream.url);
    const ada = await signedIn();
    await eventually(async () => expect(textOf(await call(ada, own))).toBe(ada.sub));
    // The account that is opened now takes the place of the one for the former URL.
    const data = { connection_url: `${upstream.url}/moved` };
    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id: own, data });
    const client = new Client({ connectionString: service.database.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      await client.query(
        `SELECT FROM id_tokens t JOIN browser_sessions s ON s.id = t.session_id WHERE s.user_id = $1 FOR UPDATE OF t`,
        [ada.id],
      );
      const answer = call(ada, own);
      await eventually(async () => {
        const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        expect(await service.query(waiting)).not.toEqual([]);
      });
      await client.query('DELETE FROM browser_sessions WHERE user_id = $1', [ada.id]);
      await client.query('COMMIT');
      expect((await answer).status).toBe(403);
    } finally {
      await client.end();
    }
  });

  it('uses the sign-in of another browser after a sign-out in one', async () => {
    const ada = await signedIn();
    await signInAt(issuer, ada, new Browser(service.url));
    expect(textOf(await call(ada))).toBe(ada.sub);
    await ada.browser.submit('/sign-in', {});
    await eventually(async () => expect(await keptTokensOf(service, ada)).toHaveLength(1));
    await expireAccount(service, ada);
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });

  it('gets another token before the one expires, and once the upstream refuses it', async () => {
    const ada = await signedIn();
    expect(textOf(await call(ada))).toBe(ada.sub);
    await expireAccount(service, ada);
    await eventually(async () => {
      expect(textOf(await call(ada))).toBe(ada.sub);
      expect(issuer.exchanges.requests).toHaveLength(2);
    });
    upstream.endAccessTokens(ada.sub);
    expect((await Promise.all([call(ada), call(ada)])).map(textOf)).toEqual([ada.sub, ada.sub]);
    expect(issuer.exchanges.requests).toHaveLength(3);
  });

  it('demands another sign-in once the ID token has expired', async () => {
    issuer.idTokenTtlS = SHORT_S;
    const ada = await signedIn();
    await expectSignInRequired(ada);
    expect(issuer.exchanges.requests).toEqual([]);
  });

  it('gets another ID token with the refresh token, which is used once for all connections', async () => {
    Object.assign(issuer, { idTokenTtlS: SHORT_S, hasRefreshTokens: true });
    const ada = await signedIn();
    const others = [await connectEnterprise(service, upstream.url), await connectEnterprise(service, upstream.url)];
    const before = issuer.refreshes;
    issuer.idTokenTtlS = LONG_S;
    const answers = await Promise.all([id, ...others].map((connection) => call(ada, connection)));
    expect(answers.map(textOf)).toEqual([ada.sub, ada.sub, ada.sub]);
    expect(issuer.refreshes - before).toBe(1);
  });

  it('demands another sign-in once the issuer gives no more ID tokens', async () => {
    Object.assign(issuer, { idTokenTtlS: SHORT_S, hasRefreshTokens: true });
    const ada = await signedIn();
    await issuer.revokeRefreshTokens();
    await expectSignInRequired(ada);
    expect(await keptTokensOf(service, ada)).toEqual([]);
  });

  it('demands another sign-in if the issuer answers a refresh token without an ID token', async () => {
    Object.assign(issuer, { idTokenTtlS: SHORT_S, hasRefreshTokens: true });
    const ada = await signedIn();
    answerTokenRequests(issuer, 200, { access_token: 'useless', token_type: 'Bearer', expires_in: 60 });
    await expectSignInRequired(ada);
    expect(await keptTokensOf(service, ada)).toEqual([]);
  });

  it('leaves alone an ID token for which another process has taken over', async () => {
    Object.assign(issuer, { idTokenTtlS: SHORT_S, hasRefreshTokens: true });
    const ada = await signedIn();
    const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
    issuer.intercept = ({ url }, response) => {
      if (url !== '/token') return false;
      resolve(response);
      return true;
    };
    const answer = call(ada);
    const held = await asked;
    await service.query(
      `UPDATE id_tokens SET expires_at = now() + interval '1 hour', refresh_lease_until = NULL FROM browser_sessions s
        WHERE s.id = session_id AND s.user_id = $1`,
      [ada.id],
    );
    issuer.intercept = () => false;
    held.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    await answer;
    expect(await keptTokensOf(service, ada)).toHaveLength(1);
  });

  it('says that the issuer refuses the person, and asks it again later', async () => {
    issuer.exchanges.refusal = 'access_denied';
    const ada = await signedIn();
    const refused = errorIn(await call(ada));
    expect(refused?.message).toContain('The identity provider refused to assert you: access_denied.');
    expect(refused?.data).toMatchObject({ code: 'upstream_authorization_required', authorization_url: page() });
    await eventually(async () => {
      await call(ada);
      const before = issuer.exchanges.requests.length;
      expect(errorIn(await call(ada))?.message).toBe(refused?.message);
      expect(issuer.exchanges.requests).toHaveLength(before);
    });
    issuer.exchanges.refusal = undefined;
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });

  it('does not ask with each call about a sign-in that the issuer does not accept', async () => {
    issuer.exchanges.refusal = 'invalid_grant';
    const ada = await signedIn();
    await eventually(async () => {
      await expectSignInRequired(ada);
      const before = issuer.exchanges.requests.length;
      await expectSignInRequired(ada);
      expect(issuer.exchanges.requests).toHaveLength(before);
    });
    issuer.exchanges.refusal = undefined;
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });

  it.each(['invalid_client', 'temporarily_unavailable'])(
    'blames no person while the issuer answers %s',
    async (code) => {
      issuer.exchanges.refusal = code;
      const ada = await signedIn();
      expect((await call(ada)).status).toBe(503);
      issuer.exchanges.refusal = undefined;
      await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
    },
  );

  it.each([
    [400, 'invalid_client'],
    [400, 'invalid_request'],
    [429, 'access_denied'],
  ])('keeps the sign-in while the issuer answers %i %s for a refresh token', async (status, error) => {
    Object.assign(issuer, { idTokenTtlS: SHORT_S, hasRefreshTokens: true });
    const ada = await signedIn();
    issuer.idTokenTtlS = LONG_S;
    const bob = await signedIn();
    answerTokenRequests(issuer, status, { error });
    expect(errorIn(await call(ada))?.message).toContain('The identity provider did not issue another ID token.');
    expect(await keptTokensOf(service, ada)).toHaveLength(1);
    issuer.intercept = () => false;
    // The others do not wait for the pause of this account.
    expect(textOf(await call(bob))).toBe(bob.sub);
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });

  it.each([
    ['audience', { aud: 'https://elsewhere.example' }],
    ['client', { client_id: 'another' }],
    ['resource', { resource: 'https://elsewhere.example/mcp' }],
  ])('says that the upstream refuses an assertion for another %s', async (_name, claims) => {
    issuer.exchanges.claims = claims;
    const refused = errorIn(await call(await signedIn()));
    expect(refused?.message).toContain(
      'The authorization server of the upstream refused your identity: invalid_grant.',
    );
    expect(refused?.data.code).toBe('upstream_authorization_required');
  });

  it('blames the client of the connection, and no person, if the upstream does not accept it', async () => {
    const wrong = await connectEnterprise(service, upstream.url, { client_secret: 'wrong' });
    const answer = await call(await signedIn(), wrong);
    expect(answer.status).toBe(503);
    expect(errorIn(answer)?.message).toContain('does not accept auth.client_id with its auth.client_secret');
  });

  it('presents no token of another type', async () => {
    issuer.exchanges.issuedTokenType = 'urn:ietf:params:oauth:token-type:access_token';
    const before = upstream.assertions;
    const own = await connectEnterprise(service, upstream.url);
    expect((await call(await signedIn(), own)).status).toBe(503);
    expect(upstream.assertions).toBe(before);
  });

  it('sends the client to no other authorization server than before', async () => {
    const own = await connectEnterprise(service, upstream.url);
    const [ada, bob] = [await signedIn(), await signedIn()];
    await eventually(async () => expect(textOf(await call(ada, own))).toBe(ada.sub));
    const other = await startOauthUpstream(undefined, issuer.url);
    try {
      upstream.intercept = (_request, response, path) => {
        if (!path.startsWith('/.well-known/oauth-protected-resource')) return false;
        const document = { resource: upstream.url, authorization_servers: [other.issuer] };
        return response.setHeader('content-type', 'application/json').end(JSON.stringify(document)) !== undefined;
      };
      issuer.exchanges.requests.length = 0;
      const refused = errorIn(await call(bob, own));
      expect(refused?.message).toContain('names another authorization server');
      expect(issuer.exchanges.requests).toEqual([]);
      upstream.intercept = () => false;
      // Another connection to the same upstream has another client.
      expect(textOf(await call(bob))).toBe(bob.sub);
    } finally {
      await other.close();
    }
  });

  it('keeps nothing of a person who has no such connection', async () => {
    const other = await startSecondOrganization(service, 'elsewhere');
    const ada = await employ({ ...service, org: other.slug as 'default', tool: other.tool });
    await signInAt(issuer, ada);
    expect(await keptTokensOf(service, ada)).toEqual([]);
  });

  it.each([
    ['client_id', { client_id: null }],
    ['client_secret', { client_secret: null }],
    ['account', { account: 'connection' }],
  ])('cannot be made with a wrong %s', async (name, change) => {
    const auth = { type: 'enterprise', ...ENTERPRISE_CLIENT, ...change };
    const data = { connection_type: 'HTTP', title: 'Upstream', connection_url: upstream.url, auth };
    const { status, body } = await service.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ path: `data.auth.${name}` }]);
  });

  it('is shown without its secret, and can be stored again as it is shown', async () => {
    const { item } = await succeed<{ item: { auth: object } }>(service, 'COLLECTION_CONNECTIONS_GET', { id });
    const { client_id } = ENTERPRISE_CLIENT;
    const shown = { type: 'enterprise', account: 'member', scope: null, client_id, private_key: null };
    expect(item.auth).toEqual({ ...shown, client_secret: '***' });
    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { auth: item.auth } });
    const ada = await signedIn();
    await eventually(async () => expect(textOf(await call(ada))).toBe(ada.sub));
  });
});
