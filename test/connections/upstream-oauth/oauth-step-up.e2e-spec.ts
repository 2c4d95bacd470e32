import { describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { callProxy, errorIn, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { eventually } from '../../support/eventually.js';
import { authorize, begin, connectOauth, type Person, useOauthUpstream } from './log-in.support.js';
import type { OauthUpstream } from './oauth-upstream.js';

describe('an upstream that demands more scopes', () => {
  let service: Tenant;
  let upstream: OauthUpstream;
  let owner: Person;

  useOauthUpstream(newTenant, (started) => ({ upstream, service, owner } = started));

  const authorized = async (auth: object = {}): Promise<string> => {
    const id = await connectOauth(service, upstream, auth);
    expect((await authorize(owner, upstream, id)).status).toBe(200);
    return id;
  };
  /** Answers every request that has a token with 403 and this challenge. */
  const refuseWith = (challenge: string): void => {
    upstream.intercept = ({ headers }, response, path) => {
      if (path !== '/mcp' || headers.authorization === undefined) return false;
      response.writeHead(403, { 'www-authenticate': challenge, 'content-type': 'application/json' }).end('{}');
      return true;
    };
  };
  const demand = (scope: string): void => refuseWith(`Bearer error="insufficient_scope", scope="${scope}"`);
  const call = async (id: string): Promise<unknown> => {
    const answer = await callProxy(service, pathOf(service, id), { key: service.apiKey, body: toolCall('whoami') });
    const error = errorIn(answer);
    return error === undefined ? rpcOf(answer).result?.content?.[0]?.text : [answer.status, error.data.code];
  };
  const requestedBy = async (id: string): Promise<string | null> =>
    new URL(await begin(owner, id)).searchParams.get('scope');
  const reasonOf = async (id: string): Promise<unknown> =>
    (await succeed<{ item: { status_reason: unknown } }>(service, 'COLLECTION_CONNECTIONS_GET', { id })).item
      .status_reason;

  const REQUIRED = [403, 'upstream_authorization_required'];
  const REFUSED = [503, 'upstream_unauthorized'];

  it('gets them after another log-in, which requests them next to the previous ones', async () => {
    const id = await authorized();
    expect(await requestedBy(id)).toBe('tools offline_access');
    demand('admin');
    expect(await call(id)).toEqual(REQUIRED);
    await eventually(async () => expect(String(await reasonOf(id))).toContain('more permissions'));
    expect(await requestedBy(id)).toBe('tools offline_access admin');
    demand('audit');
    expect(await call(id)).toEqual(REQUIRED);
    expect(await requestedBy(id)).toBe('tools offline_access admin audit');
    upstream.intercept = () => false;
    expect((await authorize(owner, upstream, id)).status).toBe(200);
    expect(await call(id)).toBe('alice');
    expect(await reasonOf(id)).toBeNull();
  });

  it('is not asked again for scopes that the last log-in requested', async () => {
    const id = await authorized();
    demand('admin');
    expect(await call(id)).toEqual(REQUIRED);
    expect((await authorize(owner, upstream, id)).status).toBe(200);
    expect(await call(id)).toEqual(REFUSED);
  });

  it('is remembered when the token is refreshed before the log-in', async () => {
    const id = await authorized();
    demand('admin');
    expect(await call(id)).toEqual(REQUIRED);
    upstream.intercept = () => false;
    const { refreshes } = upstream;
    upstream.endAccessTokens('alice');
    expect(await call(id)).toBe('alice');
    expect(upstream.refreshes).toBe(refreshes + 1);
    expect(await requestedBy(id)).toBe('tools offline_access admin');
  });

  it('does not get more than the configured scopes', async () => {
    const id = await authorized({ scope: 'tools' });
    demand('admin');
    expect(await call(id)).toEqual(REFUSED);
    expect(await requestedBy(id)).toBe('tools offline_access');
  });

  it.each([
    ['names no scope', 'Bearer error="insufficient_scope"'],
    ['has another reason', 'Bearer error="invalid_request", scope="admin"'],
    ['names an invalid scope', 'Bearer error="insufficient_scope", scope="ä"'],
  ])('is an ordinary refusal if it %s', async (_what, challenge) => {
    const id = await authorized();
    refuseWith(challenge);
    expect(await call(id)).toEqual(REFUSED);
    expect(await requestedBy(id)).toBe('tools offline_access');
  });
});
