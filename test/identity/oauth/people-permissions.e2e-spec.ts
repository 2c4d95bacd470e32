import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { newId } from '../../../src/core/ids.js';
import { createThread } from '../../support/agent-runs.js';
import { expectProblem } from '../../support/problem.js';
import { callProxy, errorIn, pathOf, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { McpOauthClient } from './oauth-client.js';

const inputSchema = { type: 'object' };
const TOOLS = ['first', 'second'].map((name) => ({ name, inputSchema }));
const MANAGEMENT = ['COLLECTION_CONNECTIONS_LIST', 'API_KEY_LIST'];
/** What a person can do at each endpoint: tool names. */
interface Rights {
  upstream: string[];
  self: string[];
}

/** Role, what every member has, and what follows. */
const PEOPLE: [role: string, memberPermissions: Record<string, string[]>, Rights][] = [
  ['owner', {}, { upstream: ['first', 'second'], self: MANAGEMENT }],
  ['admin', {}, { upstream: ['first', 'second'], self: MANAGEMENT }],
  ['member', {}, { upstream: [], self: [] }],
  ['member', { CONNECTION: ['second'], self: ['API_KEY_LIST'] }, { upstream: ['second'], self: ['API_KEY_LIST'] }],
  ['member', { '*': ['*'] }, { upstream: ['first', 'second'], self: [] }],
  ['tester', {}, { upstream: ['first'], self: ['COLLECTION_CONNECTIONS_LIST'] }],
  ['tester', { CONNECTION: ['second'], self: ['API_KEY_LIST'] }, { upstream: ['first', 'second'], self: MANAGEMENT }],
];

let app: Tenant;
let upstream: ScriptedServer;
let connectionId: string;
let agentId: string;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') sendResult(response, message, { tools: TOOLS });
    else if (message.method === 'tools/call') sendResult(response, message, { content: [] });
    else sendResult(response, message, {});
  });
  upstream = await startScripted(script);
  app = await newTenant();
  connectionId = await connectTo(app, upstream.url);
  const agent = { title: 'Agent', connections: [{ connection_id: connectionId }] };
  agentId = (await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: agent }).expect(200)).body.item.id;
  await app.query(
    `INSERT INTO roles (id, organization_id, name, permissions)
     SELECT $1, id, 'tester', $2 FROM organizations WHERE slug = $3`,
    [newId(), JSON.stringify({ [connectionId]: ['first'], self: ['COLLECTION_CONNECTIONS_LIST'] }), app.org],
  );
});
afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

async function setMemberPermissions(permissions: Record<string, string[]>): Promise<void> {
  const ids: Record<string, string> = { CONNECTION: connectionId, AGENT: agentId };
  const named = Object.entries(permissions).map(([name, tools]) => [ids[name] ?? name, tools]);
  await app.query(`UPDATE organizations SET member_permissions = $1 WHERE slug = $2`, [
    JSON.stringify(Object.fromEntries(named)),
    app.org,
  ]);
}

/** A person signed in with a browser. */
async function signedIn(role: string): Promise<Browser> {
  const email = newEmail();
  await addPerson(app, { email, role });
  const browser = new Browser(app.url);
  await browser.signIn(email);
  return browser;
}

async function tokenFor(browser: Browser, path: string): Promise<string> {
  return (await new McpOauthClient().authorize(app.url + path, browser)).access_token;
}

/** The names that `tools/list` returns; undefined if the list itself is refused. */
async function listed(path: string, key: string): Promise<string[]> {
  const answer = await callProxy(app, path, { key, body: rpc('tools/list') });
  return (rpcOf(answer).result?.tools ?? []).map(({ name }) => name);
}

describe.each(PEOPLE)('a person with the role %s, where every member has %j', (role, memberPermissions, rights) => {
  let browser: Browser;

  beforeAll(async () => {
    await setMemberPermissions(memberPermissions);
    browser = await signedIn(role);
  });

  it.each([
    ['the connection', () => pathOf(app, connectionId)],
    ['the agent', () => `/api/${app.org}/mcp/gateway/${agentId}`],
    ['the agent as a connection', () => pathOf(app, agentId)],
  ])('lists and calls at %s exactly what the permissions say', async (_what, pathOfEndpoint) => {
    const path = pathOfEndpoint();
    const key = await tokenFor(browser, path);
    expect(await listed(path, key)).toEqual(rights.upstream);
    for (const { name } of TOOLS) {
      const answer = await callProxy(app, path, { key, body: toolCall(name) });
      const isAllowed = rights.upstream.includes(name);
      expect({ name, status: answer.status }).toEqual({ name, status: isAllowed ? 200 : 403 });
      if (isAllowed) continue;
      expect(errorIn(answer)).toMatchObject({ code: -32000, data: { code: 'permission_denied' } });
      // A client would sign in again for nothing.
      expect(answer.headers['www-authenticate']).toBeUndefined();
    }
  });

  it('lists and calls at `self` exactly what the permissions say', async () => {
    const path = `/api/${app.org}/mcp/self`;
    const key = await tokenFor(browser, path);
    expect((await listed(path, key)).filter((name) => MANAGEMENT.includes(name)).toSorted()).toEqual(
      rights.self.toSorted(),
    );
    for (const name of MANAGEMENT) {
      const answer = await callProxy(app, path, { key, body: toolCall(name) });
      const isAllowed = rights.self.includes(name);
      expect({ name, status: answer.status }).toEqual({ name, status: isAllowed ? 200 : 403 });
      if (!isAllowed) expect(errorIn(answer)).toMatchObject({ code: -32000, data: { code: 'permission_denied' } });
    }
  });

  it('lists and calls at the API exactly what the permissions say', async () => {
    const key = await tokenFor(browser, `/api/${app.org}`);
    const { body } = await supertest(app.url)
      .get(`/api/${app.org}/tools`)
      .set('authorization', `Bearer ${key}`)
      .expect(200);
    const names: string[] = body.items.map(({ name }: { name: string }) => name);
    expect(names.filter((name) => MANAGEMENT.includes(name)).toSorted()).toEqual(rights.self.toSorted());
    for (const name of MANAGEMENT) {
      await app.tool(name, {}, key).expect(rights.self.includes(name) ? 200 : 403);
    }
    // What is open to people.
    await app.tool('OAUTH_GRANT_LIST', {}, key).expect(200);
  });

  it('runs agents, as every member does', async () => {
    const key = await tokenFor(browser, `/api/${app.org}`);
    const threadId = await createThread(app, agentId);
    await supertest(app.url)
      .post(`/api/${app.org}/agent-runtime/threads/${threadId}/messages`)
      .set('authorization', `Bearer ${key}`)
      .send({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }], agent: { id: agentId } })
      .expect(202);
  });
});

describe('a key that a person makes', () => {
  it('does not open what is open to people without a permission', async () => {
    await setMemberPermissions({ self: ['API_KEY_CREATE'] });
    const token = await tokenFor(await signedIn('member'), `/api/${app.org}`);
    const { body } = await app.tool('API_KEY_CREATE', { name: 'narrow', permissions: {} }, token).expect(200);
    expectProblem(await app.tool('OAUTH_GRANT_LIST', {}, body.key), 403, 'permission_denied');
  });

  it('never reaches beyond that person, from one moment to the next', async () => {
    await setMemberPermissions({ self: ['API_KEY_CREATE'], CONNECTION: ['first'] });
    const browser = await signedIn('member');
    const token = await tokenFor(browser, `/api/${app.org}`);
    await app.tool('API_KEY_CREATE', { name: 'wide', permissions: { self: ['MEMBER_LIST'] } }, token).expect(403);
    const own = { self: ['API_KEY_CREATE'] };
    const { body } = await app.tool('API_KEY_CREATE', { name: 'own', permissions: own }, token).expect(200);
    await app.tool('API_KEY_LIST', {}, body.key).expect(403);
    await setMemberPermissions({});
    await app.tool('API_KEY_CREATE', { name: 'more', permissions: own }, body.key).expect(403);
  });

  it('is refused for a connection that it could never call, because it opens only what its token opens', async () => {
    await setMemberPermissions({ self: ['API_KEY_CREATE', 'API_KEY_UPDATE'], CONNECTION: ['first'], AGENT: ['first'] });
    const token = await tokenFor(await signedIn('member'), `/api/${app.org}`);
    const permissions = { [connectionId]: ['first'] };
    const refused = await app.tool('API_KEY_CREATE', { name: 'useless', permissions }, token);
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 403,
      body: expect.objectContaining({
        code: 'permission_widening',
        detail: expect.stringMatching(
          new RegExp(`token for /api/${app.org} opens nothing else.*could never call the connection`),
        ),
        errors: [expect.objectContaining({ path: `permissions.${connectionId}` })],
      }),
    });
    // An agent can be run through the API.
    const key = { name: 'runs', permissions: { [agentId]: ['first'] } };
    const { body } = await app.tool('API_KEY_CREATE', key, token).expect(200);
    await app.tool('API_KEY_UPDATE', { id: body.id, permissions }).expect(403);
  });
});
