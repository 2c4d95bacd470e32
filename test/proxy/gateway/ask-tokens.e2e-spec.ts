import { beforeAll, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { succeed } from '../../support/agent-runs.js';
import { agentOf, callThrough, gatewayPath } from '../../support/gateway-agents.js';
import { addKey, newTenant } from '../../support/tenant.js';
import { addPerson, newEmail } from '../../identity/sign-in/people.js';
import { idsIn, textIn } from './ask.support.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(newTenant);
let agentId: string;

beforeAll(async () => {
  agentId = await agentOf(app, [], { expose_run: true });
});

/** A key of a person who may do everything. */
async function keyOfPerson(): Promise<string> {
  const userId = await addPerson(app, { email: newEmail(), role: 'admin' });
  return (await addKey(app, { name: 'own', userId })).key;
}

async function threadOf(key: string): Promise<string> {
  const data = { title: 'Conversation', virtual_mcp_id: agentId };
  return (await app.tool('COLLECTION_THREADS_CREATE', { data }, key).expect(200)).body.item.id;
}

/** A token for the endpoint of the agent alone, of a client that the owner of the key has made. */
async function tokenOf(key: string): Promise<string> {
  const client = { name: 'Nightly', grant_types: ['client_credentials'], permissions: { [agentId]: ['*'] } };
  const { body } = await app.tool('OAUTH_CLIENT_CREATE', client, key).expect(200);
  const { client_id } = body.item as { client_id: string };
  const resource = app.url + gatewayPath(app, agentId);
  const form = { grant_type: 'client_credentials', client_id, client_secret: String(body.client_secret), resource };
  return (await supertest(app.url).post('/oauth/token').type('form').send(form).expect(200)).body.access_token;
}

async function ask(token: string, thread?: string) {
  const args = { message: 'Hello', ...(thread !== undefined && { thread_id: thread }) };
  return (await callThrough(app, gatewayPath(app, agentId), 'ask', args, token)).rpc.result;
}

async function refused(token: string, thread: string): Promise<void> {
  const result = await ask(token, thread);
  expect(result).toMatchObject({ isError: true });
  expect(textIn(result)).toContain('thread_not_found');
  const { items } = await succeed<{ items: object[] }>(app, 'COLLECTION_THREAD_MESSAGES_LIST', { thread_id: thread });
  expect(items).toEqual([]);
}

it('a token of the organization for an agent continues its own conversations, and those of no other key', async () => {
  const [token, neighbour] = [await tokenOf(app.apiKey), await tokenOf(app.apiKey)];
  const { thread_id: own } = idsIn(await ask(token));
  expect(textIn(await ask(token, own))).toBe('You said: Hello');
  expect(await ask(neighbour, own)).toMatchObject({ isError: true });
  await refused(token, await threadOf(app.apiKey));
  await refused(token, await threadOf(await keyOfPerson()));
});

it('a token of a person for an agent continues the conversations of this person only', async () => {
  const [key, other] = [await keyOfPerson(), await keyOfPerson()];
  const token = await tokenOf(key);
  expect(textIn(await ask(token, await threadOf(key)))).toBe('You said: Hello');
  await refused(token, await threadOf(other));
  await refused(token, await threadOf(app.apiKey));
});
