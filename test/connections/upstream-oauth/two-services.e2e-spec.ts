import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, type RpcAnswer, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { startTestService, type TestService } from '../../support/service.js';
import { Issuer } from '../../identity/sign-in/issuer.js';
import { addPerson } from '../../identity/sign-in/people.js';
import { connectEnterprise, type Employee, employ, signInAt } from './enterprise.support.js';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const MACHINE = {
  name: 'The other service',
  grant_types: ['client_credentials'],
  permissions: { self: ['ROLE_LIST'] },
};

const DONE = { structuredContent: { items: expect.any(Array) } };

interface CreatedClient {
  readonly item: { readonly client_id: string };
  readonly client_secret?: string;
}

describe('two services of which one is the upstream of the other', () => {
  let issuer: Issuer;
  let first: TestService;
  let second: TestService;

  beforeAll(async () => {
    issuer = await Issuer.start(() => [first, second].map(({ url }) => `${url}/auth/oidc/callback`));
    const trusted = [{ issuer: issuer.url, audience: 'https://api.example', id_jag: true }];
    const env = { ...issuer.env(), TRUSTED_ISSUERS: JSON.stringify(trusted) };
    first = await startTestService({ env });
    second = await startTestService({ env });
  });
  afterAll(async () => {
    await second?.close();
    await first?.close();
    issuer?.close();
  });

  const selfOf = ({ url, org }: TestService): string => `${url}/api/${org}/mcp/self`;
  const callTool = async (app: TestService, id: string, key: string, tool: string): Promise<RpcAnswer> =>
    rpcOf(await callProxy(app, pathOf(app, id), { key, body: toolCall(tool) }));
  const namesFor = async (app: TestService, id: string, key: string): Promise<string[]> =>
    (rpcOf(await callProxy(app, pathOf(app, id), { key, body: rpc('tools/list') })).result?.tools ?? []).map(
      ({ name }) => name,
    );
  /** A person of both organizations, who is signed in at the first one. */
  const signedIn = async (at: TestService, other: TestService, role: string): Promise<Employee> => {
    const person = await employ(at);
    await addPerson(other, { email: person.email, role, password: null });
    await signInAt(issuer, person);
    return person;
  };

  it.each([
    ['the first', () => [first, second] as const],
    ['the second', () => [second, first] as const],
  ])('acts for people of %s one as the same people at the other, by what the issuer asserts', async (_name, both) => {
    const [caller, upstream] = both();
    const client = await succeed<CreatedClient>(upstream, 'OAUTH_CLIENT_CREATE', {
      name: 'The other service',
      grant_types: [JWT_BEARER],
    });
    const { client_id } = client.item;
    issuer.exchanges.clientId = client_id;
    const auth = { client_id, client_secret: client.client_secret };
    const id = await connectEnterprise(caller, selfOf(upstream), auth);
    const [owner, member] = [await signedIn(caller, upstream, 'owner'), await signedIn(caller, upstream, 'member')];
    await eventually(async () => expect(await namesFor(caller, id, owner.key)).toContain('ROLE_LIST'));
    expect((await callTool(caller, id, owner.key, 'ROLE_LIST')).result).toMatchObject(DONE);
    type Event = { event: string; actor: { user_email: string; client_id: string } };
    const peopleWithGrants = async (): Promise<string[]> => {
      const { items } = await succeed<{ items: Event[] }>(upstream, 'AUDIT_EVENTS_LIST', {});
      const granted = items.filter(({ event, actor }) => event === 'grant.created' && actor.client_id === client_id);
      return [...new Set(granted.map(({ actor }) => actor.user_email))].toSorted();
    };
    // The rights are those at the upstream, where a member holds nothing.
    await eventually(async () => {
      expect(await namesFor(caller, id, member.key)).not.toContain('ROLE_LIST');
      expect(await peopleWithGrants()).toEqual([owner.email, member.email].toSorted());
    });
  });

  it('acts as a client of the other, with a secret or with a private key, also through an agent', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const withSecret = await succeed<CreatedClient>(second, 'OAUTH_CLIENT_CREATE', MACHINE);
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] };
    const withKey = await succeed<CreatedClient>(second, 'OAUTH_CLIENT_CREATE', { ...MACHINE, auth: 'jwks', jwks });
    const credentials = [
      { client_id: withSecret.item.client_id, client_secret: withSecret.client_secret },
      {
        client_id: withKey.item.client_id,
        private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      },
    ];
    for (const credential of credentials) {
      const auth = { type: 'client_credentials', ...credential };
      const id = await connectTo(first, selfOf(second), { auth });
      await eventually(async () => expect(await namesFor(first, id, first.apiKey)).toEqual(['ROLE_LIST']));
      expect((await callTool(first, id, first.apiKey, 'ROLE_LIST')).result).toMatchObject(DONE);
      const path = gatewayPath(first, await agentOf(first, [id]));
      expect((await callThrough(first, path, 'ROLE_LIST')).rpc.result).toMatchObject(DONE);
    }
  });
});
