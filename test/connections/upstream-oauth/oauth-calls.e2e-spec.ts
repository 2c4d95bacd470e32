import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import {
  callProxy,
  errorIn,
  pathOf,
  type ProxyAnswer,
  type RpcError,
  rpcOf,
  toolCall,
} from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { authorize, connectOauth, type Person, signedIn } from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';
import { useTenantOfTwo } from '../../support/use-started.js';

describe('calls to an upstream that demands OAuth', () => {
  const [service, other] = useTenantOfTwo();
  /** The same, as another process has it. */
  let upstream: OauthUpstream;
  let owner: Person;

  beforeAll(async () => {
    upstream = await startOauthUpstream();
    owner = await signedIn(service);
  });
  afterAll(async () => {
    await upstream?.close();
  });
  beforeEach(() => {
    upstream.lifetimeS = 3600;
    upstream.refreshes = 0;
    upstream.calls.length = 0;
  });

  const call = (id: string, app = service): Promise<ProxyAnswer> =>
    callProxy(app, pathOf(service, id), { key: service.apiKey, body: toolCall('whoami') });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const itemOf = async (id: string): Promise<Record<string, unknown>> =>
    (await succeed<{ item: Record<string, unknown> }>(service, 'COLLECTION_CONNECTIONS_GET', { id })).item;
  const pageOf = (id: string): string => `${service.url}/connections/${id}/authorize`;
  /** What a caller gets while nobody has logged in. */
  const required = (id: string): Partial<RpcError> => ({
    code: -32000,
    message: expect.stringContaining(pageOf(id)) as never,
    data: expect.objectContaining({
      code: 'upstream_authorization_required',
      authorization_url: pageOf(id),
    }) as never,
  });
  const authorized = async (): Promise<string> => {
    const id = await connectOauth(service, upstream);
    const page = await authorize(owner, upstream, id);
    expect({ status: page.status, text: page.text }).toEqual({
      status: 200,
      text: expect.stringContaining('You can close this window'),
    });
    return id;
  };

  it('are refused with the page until a person has logged in, and then use the token', async () => {
    const id = await connectOauth(service, upstream);
    const refused = await call(id);
    expect(refused.status).toBe(403);
    expect(errorIn(refused)).toMatchObject(required(id));
    await eventually(async () => expect(String((await itemOf(id))['status_reason'])).toContain(pageOf(id)));
    expect(await itemOf(id)).toMatchObject({
      status: 'active',
      auth: {
        type: 'oauth',
        account: 'connection',
        scope: null,
        client_id: null,
        client_secret: null,
        private_key: null,
      },
    });

    expect((await authorize(owner, upstream, id)).status).toBe(200);
    expect(textOf(await call(id))).toBe('alice');
    expect(await itemOf(id)).toMatchObject({ status: 'active', status_reason: null });
    expect(upstream.authorizations.join()).not.toContain(service.apiKey);
  });

  it('give the same page by the management tool and at the call-tool endpoint', async () => {
    const id = await connectOauth(service, upstream);
    expect((await service.tool('CONNECTION_AUTHORIZE', { id })).body).toEqual({ authorization_url: pageOf(id) });
    const path = `${pathOf(service, id)}/call-tool/whoami`;
    const refused = await callProxy(service, path, { key: service.apiKey, body: {} });
    expect(refused.status).toBe(403);
    expect(errorIn(refused)).toMatchObject(required(id));
    const plain = await connectTo(service, upstream.url);
    expect((await service.tool('CONNECTION_AUTHORIZE', { id: plain })).status).toBe(400);
  });

  it('do not open the breaker while they are refused', async () => {
    const id = await connectOauth(service, upstream);
    for (let count = 0; count < 7; count++) expect(errorIn(await call(id))).toMatchObject(required(id));
    const test = await succeed<{ ok: boolean; error: string }>(service, 'CONNECTION_TEST', { id });
    expect(test).toMatchObject({ ok: false, error: expect.stringContaining(pageOf(id)) });
    expect(await itemOf(id)).toMatchObject({ status: 'active' });
  });

  it('are sent once more with a new token when the upstream answers 401', async () => {
    const id = await authorized();
    expect(textOf(await call(id))).toBe('alice');
    upstream.endAccessTokens('alice');
    upstream.calls.length = 0;
    const answers = await Promise.all([call(id), call(id), call(id)]);
    expect(answers.map(textOf)).toEqual(['alice', 'alice', 'alice']);
    expect(upstream.calls).toHaveLength(3);
    expect(upstream.refreshes).toBe(1);
  });

  it('refresh the token before it expires', async () => {
    upstream.lifetimeS = 3;
    const id = await authorized();
    upstream.lifetimeS = 3600;
    const answers = new Set<unknown>();
    await eventually(async () => {
      answers.add(textOf(await call(id)));
      expect(upstream.refreshes).toBeGreaterThan(0);
    });
    expect([...answers, textOf(await call(id))]).toEqual(['alice', 'alice']);
    expect(upstream.refreshes).toBe(1);
  });

  it('refresh the token once, with two processes at the moment at which it expires', async () => {
    upstream.lifetimeS = 4;
    const id = await authorized();
    upstream.lifetimeS = 3600;
    const answers = new Set<unknown>();
    await eventually(async () => {
      const calls = [service, other, service, other, service, other].map((app) => call(id, app));
      for (const answer of await Promise.all(calls)) answers.add(textOf(answer));
      expect(upstream.refreshes).toBeGreaterThan(0);
    });
    for (const app of [service, other]) answers.add(textOf(await call(id, app)));
    expect([...answers]).toEqual(['alice']);
    expect(upstream.refreshes).toBe(1);
  });

  it('are refused again after the upstream has revoked the account, until a person logs in again', async () => {
    const id = await authorized();
    expect(textOf(await call(id))).toBe('alice');
    await upstream.revokeAll('alice');
    const refused = await call(id);
    expect(refused.status).toBe(403);
    expect(errorIn(refused)).toMatchObject(required(id));
    // The reason is recorded next to the answer.
    await eventually(async () => expect(String((await itemOf(id))['status_reason'])).toContain(pageOf(id)));
    expect(await itemOf(id)).toMatchObject({ status: 'active' });

    expect((await authorize(owner, upstream, id, 'bob')).status).toBe(200);
    expect(textOf(await call(id))).toBe('bob');
    expect(await itemOf(id)).toMatchObject({ status: 'active', status_reason: null });
  });

  it('are refused in every process after CONNECTION_DEAUTHORIZE, which revokes the tokens', async () => {
    const id = await authorized();
    expect(textOf(await call(id, other))).toBe('alice');
    const sent = upstream.authorizations.at(-1);
    await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
    expect(errorIn(await call(id))).toMatchObject(required(id));
    await eventually(async () => expect((await call(id, other)).status).toBe(403));
    const asked = await fetch(upstream.url, { method: 'POST', headers: { authorization: String(sent) }, body: '{}' });
    expect(asked.status).toBe(401);
  });

  it('need log-ins and log-outs that are on record', async () => {
    const id = await authorized();
    await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
    const { items } = await succeed<{ items: { event: string; target: { id: string } | null }[] }>(
      service,
      'AUDIT_EVENTS_LIST',
      {},
    );
    const own = items.filter(({ target }) => target?.id === id);
    expect(own.map(({ event }) => event).toSorted()).toEqual(['connection.authorized', 'connection.deauthorized']);
    expect(own).toContainEqual(
      expect.objectContaining({
        event: 'connection.authorized',
        actor: expect.objectContaining({ user_id: owner.id }),
        target: { type: 'connection', id, name: 'Upstream' },
        changes: { account: 'connection' },
      }),
    );
  });

  it('leave a 401 alone that a tool reports as its result', async () => {
    const id = await authorized();
    expect(textOf(await call(id))).toBe('alice');
    const path = `${pathOf(service, id)}/call-tool/fails_with_401`;
    const answer = await callProxy(service, path, { key: service.apiKey, body: {} });
    expect(answer.text).toContain('401 Unauthorized');
    expect(upstream.refreshes).toBe(0);
  });

  it('store the tokens encrypted', async () => {
    const id = await authorized();
    await call(id);
    const token = upstream.authorizations.at(-1)?.replace('Bearer ', '') ?? '';
    const rows: object[] = await service.query(
      `SELECT to_json(a)::text AS text FROM upstream_authorizations a
       UNION ALL SELECT to_json(c)::text FROM upstream_clients c UNION ALL SELECT to_json(l)::text FROM upstream_log_ins l`,
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(token.length).toBeGreaterThan(20);
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});
