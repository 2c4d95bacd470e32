import { beforeAll, expect, it } from '@jest/globals';
import { McpOauthClient } from '../oauth/oauth-client.js';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { createAgent, createThread } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { addKeyHolder, findMember, invite } from './organizations.support.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(newTenant);
let other: Awaited<ReturnType<typeof startSecondOrganization>>;

beforeAll(async () => {
  other = await startSecondOrganization(service, 'other');
});

/** One of everything that belongs to the default organization, by the name of its id. */
async function makeOneOfEverything() {
  const member = await addKeyHolder(service, 'admin');
  const invited = newEmail();
  const invitation = await invite(service, invited);
  await service.tool('ROLE_CREATE', { name: 'curator', permissions: {} }).expect(200);
  const client = await service.tool('OAUTH_CLIENT_CREATE', { name: 'Client', redirect_uris: ['https://a.example/'] });
  const email = newEmail();
  await addPerson(service, { email, role: 'admin' });
  const browser = new Browser(service.url);
  await browser.signIn(email);
  await new McpOauthClient().authorize(`${service.url}/api/${service.org}/mcp/self`, browser);
  const [grant] = (await service.tool('OAUTH_GRANT_LIST').expect(200)).body.items;
  const agentId = await createAgent(service);
  const key = await service.tool('API_KEY_CREATE', { name: 'key', permissions: {} });
  const connection = await service.tool('COLLECTION_CONNECTIONS_CREATE', {
    data: {
      title: 'Notes',
      connection_type: 'HTTP',
      connection_url: 'http://127.0.0.1:9/mcp',
      auth: { type: 'oauth', account: 'connection' },
    },
  });
  expect([client.status, key.status, connection.status]).toEqual([200, 200, 200]);
  return {
    member,
    invitation,
    invitationId: (await findMember(service, invited)).id,
    clientId: client.body.item.id as string,
    grantId: grant.id as string,
    threadId: await createThread(service, agentId),
    keyId: key.body.id as string,
    connectionId: connection.body.item.id as string,
  };
}

it('a key that may do everything in one organization finds nothing of another', async () => {
  const made = await makeOneOfEverything();
  const { member, invitationId, clientId, grantId, threadId, keyId, connectionId } = made;
  for (const [tool, input] of [
    ['MEMBER_UPDATE', { id: member.memberId, role: 'member' }],
    ['MEMBER_UPDATE', { id: invitationId, role: 'member' }],
    ['MEMBER_REMOVE', { id: member.memberId }],
    ['MEMBER_REMOVE', { id: invitationId }],
    ['MEMBER_RESET', { id: member.memberId }],
    ['ROLE_UPDATE', { name: 'curator', permissions: { self: ['*'] } }],
    ['ROLE_DELETE', { name: 'curator' }],
    ['OAUTH_GRANT_REVOKE', { id: grantId }],
    ['OAUTH_CLIENT_DELETE', { id: clientId }],
    ['THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: ['read'] }],
    ['CONNECTION_AUTHORIZE', { id: connectionId }],
    ['CONNECTION_DEAUTHORIZE', { id: connectionId }],
    ['API_KEY_UPDATE', { id: keyId, name: 'stolen' }],
    ['API_KEY_DELETE', { id: keyId }],
  ] as const) {
    const { status, body } = await other.tool(tool, input);
    expect({ tool, status, code: body.code }).toEqual({
      tool,
      status: 404,
      code: expect.stringMatching(/^(thread_)?not_found$/),
    });
  }
  // A role of another organization cannot be given either.
  expect((await other.tool('MEMBER_INVITE', { email: newEmail(), role: 'curator' })).status).toBe(400);

  const stranger = JSON.stringify(
    await Promise.all(
      ['MEMBER_LIST', 'ROLE_LIST', 'OAUTH_GRANT_LIST', 'OAUTH_CLIENT_LIST', 'API_KEY_LIST', 'AUDIT_EVENTS_LIST'].map(
        async (tool) => (await other.tool(tool, {}).expect(200)).body,
      ),
    ),
  );
  for (const id of [member.memberId, member.email, invitationId, clientId, grantId, keyId, connectionId, 'curator'])
    expect(stranger).not.toContain(id);

  expect(await findMember(service, member.email)).toMatchObject({ role: 'admin' });
  expect((await fetch(service.url + made.invitation)).status).toBe(200);
  const [roles, grants, clients, keys] = await Promise.all(
    ['ROLE_LIST', 'OAUTH_GRANT_LIST', 'OAUTH_CLIENT_LIST', 'API_KEY_LIST'].map(
      async (tool) => (await service.tool(tool).expect(200)).body.items,
    ),
  );
  expect(roles).toContainEqual({ name: 'curator', permissions: {}, built_in: false });
  expect(grants).toContainEqual(expect.objectContaining({ id: grantId }));
  expect(clients).toContainEqual(expect.objectContaining({ id: clientId }));
  expect(keys).toContainEqual(expect.objectContaining({ id: keyId, name: 'key' }));
});
