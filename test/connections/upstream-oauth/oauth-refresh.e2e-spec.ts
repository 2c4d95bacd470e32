import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { succeed } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { callProxy, pathOf, type ProxyAnswer, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { authorize, connectOauth, type Person, signedIn, useOauthUpstream } from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

/** More than the slots of one organization, so that some of its refreshes have to wait. */
const ACCOUNTS = 9;

describe('the refresh of an access token for an upstream', () => {
  let service: TestService;
  let upstream: OauthUpstream;
  let owner: Person;

  useOauthUpstream(startTestService, (started) => ({ upstream, service, owner } = started));

  const call = (id: string): Promise<ProxyAnswer> =>
    callProxy(service, pathOf(service, id), { key: service.apiKey, body: toolCall('whoami') });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const authorized = async (app = service, person = owner, at = upstream): Promise<string> => {
    const id = await connectOauth(app, at);
    expect((await authorize(person, at, id)).status).toBe(200);
    await service.query(
      `UPDATE upstream_authorizations SET refresh_at = past, expires_at = past
         FROM (SELECT now() - interval '1 hour' AS past) AS time WHERE connection_id = $1`,
      [id],
    );
    return id;
  };
  /** The token endpoint answers when the test says so. */
  const holdTokens = (at = upstream): ServerResponse[] => {
    const held: ServerResponse[] = [];
    at.intercept = (_request, response, path) => path === '/token' && held.push(response) > 0;
    return held;
  };

  it('is not kept waiting by a slow authorization server of another organization, and locks no row meanwhile', async () => {
    const slow = await startOauthUpstream();
    try {
      const other = await startSecondOrganization(service, 'slow');
      const organization = { ...service, org: other.slug as 'default', tool: other.tool };
      const person = await signedIn(organization);
      const ids: string[] = [];
      for (let count = 0; count < ACCOUNTS; count++) ids.push(await authorized(organization, person, slow));
      const id = await authorized();
      const held = holdTokens(slow);
      const calls = ids.map((one) => other.post(`mcp/${one}/call-tool/whoami`, {}).then(({ status }) => status));
      await eventually(() => expect(held.length).toBeGreaterThan(3));
      const [rows] = await service.query<{ all: string; free: string }>(
        `SELECT (SELECT count(*) FROM upstream_authorizations) AS all,
                (SELECT count(*) FROM (SELECT FROM upstream_authorizations FOR UPDATE SKIP LOCKED) AS free) AS free`,
      );
      expect(rows?.free).toBe(rows?.all);
      expect(textOf(await call(id))).toBe('alice');
      // First come, first served, all of them would have been asked before.
      expect(held.length).toBeLessThan(ACCOUNTS);
      slow.intercept = (_request, response) => response.destroy() !== undefined;
      for (const response of held) response.destroy();
      expect(new Set(await Promise.all(calls))).toEqual(new Set([503]));
    } finally {
      await slow.close();
    }
  });

  it('is made by one process, and by another one when that has died', async () => {
    const id = await authorized();
    upstream.refreshes = 0;
    const [{ until: end } = {}] = await service.query<{ until?: Date }>(
      `UPDATE upstream_authorizations
          SET refresh_lease = gen_random_uuid(), refresh_lease_until = now() + interval '2 seconds'
        WHERE connection_id = $1 RETURNING refresh_lease_until AS until`,
      [id],
    );
    expect(textOf(await call(id))).toBe('alice');
    expect(await service.query('SELECT now() > $1 AS "isOver"', [end])).toEqual([{ isOver: true }]);
    expect(upstream.refreshes).toBe(1);
  });

  it('revokes what arrives after CONNECTION_DEAUTHORIZE', async () => {
    const id = await authorized();
    const held = holdTokens();
    const called = call(id);
    await eventually(() => expect(held.length).toBeGreaterThan(0));
    const revoked: string[] = [];
    const noteRevoked = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      revoked.push(new URLSearchParams(await text(request)).get('token') ?? '');
      response.writeHead(200).end();
    };
    upstream.intercept = (request, response, path) => {
      if (path !== '/token/revocation') return false;
      void noteRevoked(request, response);
      return true;
    };
    await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
    const tokens = { access_token: 'late', refresh_token: 'late too', token_type: 'bearer', expires_in: 3600 };
    held[0]?.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
    expect((await called).status).toBe(403);
    expect(revoked).toEqual(expect.arrayContaining(['late', 'late too']));
  });

  it('pauses alone for an account that the server refuses, with whatever error', async () => {
    const [refused, other] = [await authorized(), await authorized()];
    let asked = 0;
    upstream.intercept = (_request, response, path) => {
      if (path !== '/token') return false;
      asked++;
      const error = JSON.stringify({ error: 'bad_refresh_token', error_description: 'The token was revoked.' });
      response.writeHead(400, { 'content-type': 'application/json' }).end(error);
      return true;
    };
    for (let n = 0; n < 6; n++) expect((await call(refused)).status).toBe(503);
    expect(asked).toBeLessThan(6);
    upstream.intercept = () => false;
    expect(textOf(await call(other))).toBe('alice');
  });

  it('pauses after failures of the authorization server', async () => {
    const ids = [await authorized(), await authorized()];
    let asked = 0;
    upstream.intercept = (_request, response, path) => {
      if (path !== '/token') return false;
      asked++;
      response.writeHead(500).end();
      return true;
    };
    for (const id of [...ids, ...ids, ...ids]) expect((await call(id)).status).toBe(503);
    expect(asked).toBeLessThan(6);
  });
});
