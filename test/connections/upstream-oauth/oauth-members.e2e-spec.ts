import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import {
  callProxy,
  errorIn,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  rpc,
  rpcOf,
  TAKES_STREAMS,
  toolCall,
} from '../../support/proxy-calls.js';
import { eventually } from '../../support/eventually.js';
import { authorize, connectOauth, keyOf, type Person, signedIn } from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

describe('a connection with an account for each member', () => {
  let service: Tenant;
  let upstream: OauthUpstream;
  let [alice, bob, carol]: Person[] = [];
  let [ofAlice, ofBob, ofCarol]: string[] = [];
  let id: string;

  beforeAll(async () => {
    upstream = await startOauthUpstream((account) => [`only_${account}`]);
    service = await newTenant();
    [alice, bob, carol] = [await signedIn(service), await signedIn(service, 'member'), await signedIn(service)];
    ofAlice = await keyOf(service, alice);
    ofBob = await keyOf(service, await withPermissions(bob));
    ofCarol = await keyOf(service, carol);
    id = await connectOauth(service, upstream, { account: 'member' });
    for (const [person, account] of [
      [alice, 'alice'],
      [bob, 'bob'],
    ] as const) {
      expect((await authorize(person!, upstream, id, account)).status).toBe(200);
    }
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
  });
  beforeEach(() => {
    upstream.calls.length = 0;
  });

  /** A member whom the organization permits to call everything, and nothing in `self`. */
  async function withPermissions(person: Person): Promise<Person> {
    await service.query(`UPDATE organizations SET member_permissions = '{"*": ["*"]}' WHERE slug = $1`, [service.org]);
    return person;
  }
  const call = (key?: string, name = 'whoami'): Promise<ProxyAnswer> =>
    callProxy(service, pathOf(service, id), { key, body: toolCall(name) });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const page = (): string => `${service.url}/connections/${id}/authorize`;
  /** Every call came in a session that its own account had opened. */
  const expectIsolation = (): void => {
    expect(upstream.calls.length).toBeGreaterThan(0);
    for (const { account, sessionAccount } of upstream.calls) expect(sessionAccount).toBe(account);
  };

  it('calls its upstream as the person for whom the call is made, also without a permission in self', async () => {
    const answers = await Promise.all([call(ofAlice), call(ofBob), call(ofAlice), call(ofBob)]);
    expect(answers.map(textOf)).toEqual(['alice', 'bob', 'alice', 'bob']);
    expectIsolation();
  });

  it('refuses a person without an account there, and a key of the organization, and shows nothing in the connection', async () => {
    const refused = await call(ofCarol);
    expect(refused.status).toBe(403);
    expect(errorIn(refused)).toMatchObject({ code: -32000, data: { authorization_url: page() } });
    const nobody = await call(service.apiKey);
    expect(nobody.status).toBe(403);
    expect(errorIn(nobody)).toMatchObject({ data: { code: 'permission_denied' } });
    const { item } = await succeed<{ item: object }>(service, 'COLLECTION_CONNECTIONS_GET', { id });
    expect(item).toMatchObject({ status: 'active', status_reason: null, auth: { type: 'oauth', account: 'member' } });
  });

  it('lists the tools of the own account only', async () => {
    const listed = async (key?: string): Promise<string[]> =>
      (await listThrough(service, pathOf(service, id), key)).names;
    expect(await listed(ofAlice)).toContain('only_alice');
    expect(await listed(ofAlice)).not.toContain('only_bob');
    expect(await listed(ofBob)).toContain('only_bob');
    expect(textOf(await call(ofBob, 'only_bob'))).toBe('only_bob for bob');
    expect(errorIn(await call(ofBob, 'only_alice'))).toMatchObject({ data: { code: 'unknown_tool' } });
  });

  it('separates the sessions of the callers', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const open = async (key?: string): Promise<string> => {
      const answer = await callProxy(service, pathOf(service, id), {
        key,
        headers: TAKES_STREAMS,
        body: rpc('initialize', params),
      });
      return String(answer.headers['mcp-session-id']);
    };
    const callIn = (session: string, key?: string): Promise<ProxyAnswer> => {
      const headers = { ...TAKES_STREAMS, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
      return callProxy(service, pathOf(service, id), { key, headers, body: toolCall('whoami') });
    };
    const [sessionOfAlice, sessionOfBob] = [await open(ofAlice), await open(ofBob)];
    expect(eventsOf(await callIn(sessionOfAlice, ofAlice))[0]?.result?.content?.[0]?.text).toBe('alice');
    expect(eventsOf(await callIn(sessionOfBob, ofBob))[0]?.result?.content?.[0]?.text).toBe('bob');
    expect((await callIn(sessionOfAlice, ofBob)).status).toBe(404);
    expectIsolation();
  });

  it('is used in the same way through an agent', async () => {
    const agent = gatewayPath(service, await agentOf(service, [{ connection_id: id, prefix: 'x' }]));
    const namesOf = async (key?: string): Promise<string[]> => (await listThrough(service, agent, key)).names;
    const nameOf = (names: string[], end: string): string => names.find((name) => name.endsWith(end)) ?? '';
    const [names, others] = [await namesOf(ofAlice), await namesOf(ofBob)];
    expect(nameOf(names, 'only_alice')).not.toBe('');
    expect(nameOf(names, 'only_bob')).toBe('');
    expect(nameOf(others, 'only_bob')).not.toBe('');
    const asAlice = await callThrough(service, agent, nameOf(names, 'whoami'), {}, ofAlice);
    const asBob = await callThrough(service, agent, nameOf(others, 'whoami'), {}, ofBob);
    expect([asAlice, asBob].map(textOf)).toEqual(['alice', 'bob']);
    expectIsolation();
    const { unavailable } = await listThrough(service, agent, ofCarol);
    expect(unavailable).toEqual([expect.objectContaining({ reason: expect.stringContaining(page()) })]);
  });

  it('forgets only the own account', async () => {
    const refused = await callProxy(service, `/api/${service.org}/tools/CONNECTION_DEAUTHORIZE`, {
      key: ofAlice,
      body: { id },
    });
    expect(refused.status).toBe(200);
    expect((await call(ofAlice)).status).toBe(403);
    expect(textOf(await call(ofBob))).toBe('bob');
    expect((await authorize(alice!, upstream, id, 'alice')).status).toBe(200);
    expect(textOf(await call(ofAlice))).toBe('alice');
  });

  it('forgets the account of a person who leaves the organization', async () => {
    const count = async (): Promise<number> =>
      (await service.query('SELECT 1 FROM upstream_authorizations WHERE user_id = $1', [bob!.id])).length;
    expect(await count()).toBe(1);
    await service.query('DELETE FROM members WHERE user_id = $1', [bob!.id]);
    expect(await count()).toBe(0);
    await eventually(async () => expect((await call(ofBob)).status).toBe(401));
  });
});
