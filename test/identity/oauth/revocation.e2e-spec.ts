import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { SigningKeys } from '../../../src/identity/oauth/signing-keys.js';
import { createAgent, createThread, openStream } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { rpc } from '../../support/proxy-calls.js';
import { eventually } from '../../support/eventually.js';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { McpOauthClient } from './oauth-client.js';

/** Two processes of one service. */
let first: TestApp;
let second: TestApp;
let agentId: string;

beforeAll(async () => {
  first = await startTestApp();
  second = await startTestApp({ database: first.database, env: { BASE_URL: first.url } });
  agentId = await createAgent(first);
});
afterAll(async () => {
  await second?.close();
  await first?.close();
});

interface Person {
  userId: string;
  browser: Browser;
  /** For the API. */
  token: string;
}

async function signedIn(role = 'admin'): Promise<Person> {
  const email = newEmail();
  const userId = await addPerson(first, { email, role });
  const browser = new Browser(first.url);
  await browser.signIn(email);
  const { access_token } = await new McpOauthClient().authorize(`${first.url}/api/default`, browser);
  return { userId, browser, token: access_token };
}

async function memberIdOf(userId: string): Promise<string> {
  const where = { field: ['user_id'], operator: 'eq', value: userId };
  const { body } = await first.tool('MEMBER_LIST', { where }).expect(200);
  return body.items[0].id;
}

function statusAt(app: TestApp, token: string): Promise<number> {
  return supertest(app.url)
    .get('/api/default/tools')
    .set('authorization', `Bearer ${token}`)
    .then(({ status }) => status);
}

function callSelf(token: string, method: string, params = {}): supertest.Test {
  return supertest(first.url)
    .post('/api/default/mcp/self')
    .set('authorization', `Bearer ${token}`)
    .send(rpc(method, params));
}

/** Opens a stream of the second process; `ended` settles when it ends. */
async function streamOf({ token }: Person): Promise<{ ended: Promise<unknown> }> {
  const threadId = await createThread(first, agentId);
  const stream = await openStream(second.url, 'default', threadId, token);
  expect(stream.status).toBe(200);
  return { ended: stream.collectUntilDone().catch(() => undefined) };
}

describe('a person who loses access in one process', () => {
  it.each([
    [
      'is removed',
      async ({ userId }: Person) => first.tool('MEMBER_REMOVE', { id: await memberIdOf(userId) }).expect(200),
    ],
    ['revokes the grant', async ({ token }: Person) => revokeNewest(token)],
  ])('because the person %s, loses it in the other one, open streams included', async (_what, take) => {
    const [other, person] = [await signedIn(), await signedIn()];
    expect(await statusAt(second, person.token)).toBe(200);
    const { ended } = await streamOf(person);
    await take(person);
    await ended;
    await eventually(async () => expect(await statusAt(second, person.token)).toBe(401));
    expect(await statusAt(second, other.token)).toBe(200);
  });

  it('because of another role, loses its open streams and its permissions there', async () => {
    const person = await signedIn();
    const { ended } = await streamOf(person);
    await first.tool('MEMBER_UPDATE', { id: await memberIdOf(person.userId), role: 'member' }).expect(200);
    await ended;
    await eventually(async () => expect((await second.tool('API_KEY_LIST', {}, person.token)).status).toBe(403));
  });
});

/** The newest grant is that of the caller's own token. */
async function revokeNewest(token: string): Promise<void> {
  const { body } = await first.tool('OAUTH_GRANT_LIST', {}, token).expect(200);
  await first.tool('OAUTH_GRANT_REVOKE', { id: body.items[0].id }, token).expect(200);
}

describe('a key that was made with a token', () => {
  it('opens no more than the resource of the token', async () => {
    const { browser, token } = await signedIn();
    const { access_token: ofSelf } = await new McpOauthClient().authorize(`${first.url}/api/default/mcp/self`, browser);
    const input = { name: 'made', permissions: { self: ['*'], '*': ['*'] } };
    const call = { name: 'API_KEY_CREATE', arguments: input };
    const { body } = await callSelf(ofSelf, 'tools/call', call).expect(200);
    const keyOfSelf = body.result.structuredContent.key as string;
    await callSelf(keyOfSelf, 'tools/list').expect(200);
    expect(await statusAt(first, keyOfSelf)).toBe(401);
    const { key: keyOfApi } = (await first.tool('API_KEY_CREATE', input, token).expect(200)).body;
    expect(await statusAt(first, keyOfApi)).toBe(200);
    await callSelf(keyOfApi, 'tools/list').expect(401);
    // Nor does a key that such a key makes.
    const { key: another } = (await first.tool('API_KEY_CREATE', input, keyOfApi).expect(200)).body;
    await callSelf(another, 'tools/list').expect(401);
  });

  it('ends with the grant of the token', async () => {
    const { token } = await signedIn();
    const { body } = await first.tool(
      'API_KEY_CREATE',
      { name: 'made', permissions: { self: ['API_KEY_LIST'] } },
      token,
    );
    await first.tool('API_KEY_LIST', {}, body.key).expect(200);
    await revokeNewest(token);
    await eventually(async () => expect(await statusAt(second, body.key)).toBe(401));
  });
});

describe('a changed password', () => {
  it('ends every grant of the person', async () => {
    const person = await signedIn('member');
    const { body } = await first.tool('MEMBER_RESET', { id: await memberIdOf(person.userId) }).expect(200);
    const { pathname, search } = new URL(body.reset_url);
    await new Browser(first.url).submit(pathname + search, { password: 'another long passphrase 42' });
    await eventually(async () => expect(await statusAt(second, person.token)).toBe(401));
  });
});

describe('the signing keys', () => {
  it('are published together with the one before, after a rotation', async () => {
    const keys = first.app.get(SigningKeys, { strict: false });
    const before = (await supertest(first.url).get('/oauth/jwks').expect(200)).body.keys;
    expect(before).toHaveLength(1);
    expect(Object.keys(before[0])).not.toContain('d');
    await keys.rotate();
    await keys.rotate();
    const all = await keys.all();
    expect(all).toHaveLength(2);
    expect(all.map(({ kid }) => kid)).not.toContain(before[0].kid);
  });
});
