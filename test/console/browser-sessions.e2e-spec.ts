import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { createAgent, createThread } from '../support/agent-runs.js';
import { startTestService, type TestService } from '../support/service.js';
import { expectProblem } from '../support/problem.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { type ConsoleBrowser, signedIn } from './console.support.js';
import { eventually } from '../support/eventually.js';

let service: TestService;
let agentId: string;

beforeAll(async () => {
  service = await startTestService({ env: { ALLOWED_ORIGINS: 'https://app.example.com' } });
  agentId = await createAgent(service);
});
afterAll(() => service?.close());

const query = (sql: string, values: unknown[]) => service.query<{ age?: string }>(sql, values);

/** The stream of a thread, open until the service ends it. */
async function openStream(url: string, threadId: string, person: ConsoleBrowser) {
  const path = `/api/default/agent-runtime/threads/${threadId}/stream?follow=true`;
  const response = await fetch(`${url}${path}`, { headers: person.credentials });
  const ended = (async () => {
    try {
      for await (const _chunk of response.body ?? []);
    } catch {
      // The service has closed the connection.
    }
  })();
  return { status: response.status, ended };
}

function untilStatus(status: number, send: () => Promise<supertest.Response>): Promise<supertest.Response> {
  return eventually(async () => {
    const answer = await send();
    expect(answer.status).toBe(status);
    return answer;
  });
}

describe('a signed-in browser', () => {
  it('calls the API with its cookie and the CSRF token', async () => {
    const { person } = await signedIn(service);
    expect((await person.tool('COLLECTION_VIRTUAL_MCP_LIST')).body.items).toContainEqual(
      expect.objectContaining({ id: agentId }),
    );
    expect((await person.browser.send('get', '/api/default/tools', { headers: person.headers })).status).toBe(200);
  });

  it('calls MCP endpoints', async () => {
    const { person } = await signedIn(service);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { ...person.headers, accept: 'application/json, text/event-stream' };
    for (const path of ['/api/default/mcp/self', `/api/default/mcp/gateway/${agentId}`]) {
      const answer = await person.browser.send('post', path, { body, headers });
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    }
    const legacy = await person.browser.send('post', `/mcp/${agentId}`, { body, headers });
    expect(legacy.status).toBe(401);
  });

  it('runs an agent', async () => {
    const { id, person } = await signedIn(service);
    const threadId = await createThread(service, agentId);
    const path = `/api/default/agent-runtime/threads/${threadId}/messages`;
    const body = { messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }], agent: { id: agentId } };
    const answer = await person.browser.send('post', path, { body, headers: person.headers });
    expect(answer.status).toBe(202);
    const { item } = (await person.tool('RUN_GET', { id: answer.body.taskId })).body;
    expect(item).toMatchObject({ user_id: id, api_key_id: null });
  });

  it('is refused with the cookie alone, and with the token alone', async () => {
    const { person } = await signedIn(service);
    const cookieAlone = await person.tool('API_KEY_LIST', {}, {});
    expectProblem(cookieAlone, 401, 'credential_missing');
    const tokenAlone = await supertest(service.url)
      .post('/api/default/tools/API_KEY_LIST')
      .set(person.headers)
      .send({});
    expectProblem(tokenAlone, 401, 'credential_missing');
    for (const answer of [cookieAlone, tokenAlone]) {
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="mcp",resource_metadata="[^"]+"$/);
    }
  });

  it('is refused with the token of another session', async () => {
    const [{ person }, other] = [await signedIn(service), await signedIn(service)];
    expectProblem(await person.tool('API_KEY_LIST', {}, other.person.headers), 403, 'csrf_invalid');
    expectProblem(await person.tool('API_KEY_LIST', {}, { 'x-csrf-token': '' }), 403, 'csrf_invalid');
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const answer = await person.browser.send('post', '/api/default/mcp/self', {
      body: rpc,
      headers: other.person.headers,
    });
    expect({ status: answer.status, code: answer.body.error?.data?.code }).toEqual({
      status: 403,
      code: 'csrf_invalid',
    });
  });

  it.each(['cross-site', 'same-site'])('is refused when the browser says that the request is %s', async (site) => {
    const { person } = await signedIn(service);
    const headers = { ...person.headers, 'sec-fetch-site': site, origin: 'https://app.example.com' };
    expectProblem(await person.tool('API_KEY_LIST', {}, headers), 403, 'csrf_invalid');
    const own = { ...person.headers, 'sec-fetch-site': 'same-origin' };
    expect((await person.tool('API_KEY_LIST', {}, own)).status).toBe(200);
  });

  it('is a caller of its organizations only', async () => {
    const { person } = await signedIn(service);
    await startSecondOrganization(service, 'second');
    for (const org of ['second', 'nowhere', 'No%00Slug']) {
      const path = `/api/${org}/tools/API_KEY_LIST`;
      const answer = await person.browser.send('post', path, { body: {}, headers: person.headers });
      expectProblem(answer, 403, 'organization_mismatch');
    }
  });

  it('is the caller of a key that is sent, too', async () => {
    const { person } = await signedIn(service);
    const authorization = `Bearer ${service.apiKey}`;
    const other = { authorization, 'x-csrf-token': 'of nobody' };
    expect((await person.tool('API_KEY_LIST', {}, other)).status).toBe(200);
    const bad = { ...person.headers, authorization: 'Bearer sbx_bad' };
    expectProblem(await person.tool('API_KEY_LIST', {}, bad), 401, 'credential_invalid');
  });

  it('holds what the role and the organization give, not more', async () => {
    const { person } = await signedIn(service, { role: 'member' });
    expectProblem(await person.tool('API_KEY_LIST'), 403, 'permission_denied');
    await service.tool('ORGANIZATION_UPDATE', { member_permissions: { self: ['API_KEY_LIST'] } }).expect(200);
    try {
      await untilStatus(200, () => person.tool('API_KEY_LIST'));
      expectProblem(await person.tool('RUN_LIST'), 403, 'permission_denied');
    } finally {
      await service.tool('ORGANIZATION_UPDATE', { member_permissions: {} }).expect(200);
    }
  });

  it('is on record as the person', async () => {
    const { id, email, person } = await signedIn(service);
    await person.tool('RUN_LIST', {}, { ...person.headers, 'x-request-id': 'by-browser' });
    const where = { field: ['request_id'], operator: 'eq', value: 'by-browser' };
    const { items } = (await service.tool('MONITORING_LOGS_LIST', { where }).expect(200)).body;
    expect(items).toMatchObject([
      { door: 'api', status: 'success', user_id: id, user_email: email, api_key_id: null, public: false },
    ]);
  });

  it('makes keys that belong to the person', async () => {
    const { id, person } = await signedIn(service);
    const made = await person.tool('API_KEY_CREATE', { name: 'mine', permissions: { self: ['RUN_LIST'] } });
    expect(made.status).toBe(200);
    const { id: keyId, key } = made.body;
    expect(await query('SELECT user_id FROM api_keys WHERE id = $1', [keyId])).toEqual([{ user_id: id }]);
    await person.signOut();
    await service.tool('RUN_LIST', {}, key).expect(200);
    const { items } = (
      await service.tool('MEMBER_LIST', { where: { field: ['user_id'], operator: 'eq', value: id } }).expect(200)
    ).body;
    await service.tool('MEMBER_REMOVE', { id: items[0].id }).expect(200);
    await untilStatus(401, async () => service.tool('RUN_LIST', {}, key));
  });

  it('makes schedules that outlast the session, and end with the membership', async () => {
    const { id, person } = await signedIn(service);
    const data = { title: 'Nightly', virtual_mcp_id: agentId, cron: '0 3 * * *', message: 'Hello' };
    const created = await person.tool('SCHEDULE_CREATE', { data });
    expect(created.status).toBe(200);
    await person.signOut();
    const run = () => service.tool('SCHEDULE_RUN', { id: created.body.item.id });
    await run().expect(200);
    await query('DELETE FROM members WHERE user_id = $1', [id]);
    expect((await run()).status).not.toBe(200);
  });

  it('stays signed in while only the API is called', async () => {
    const { id, person } = await signedIn(service);
    await query(`UPDATE browser_sessions SET last_seen_at = now() - interval '6 days' WHERE user_id = $1`, [id]);
    const age = async () => {
      const sql = 'SELECT extract(epoch FROM now() - last_seen_at) AS age FROM browser_sessions WHERE user_id = $1';
      return Number((await query(sql, [id]))[0]?.age);
    };
    for (let seen = await age(); seen > 60; seen = await age()) {
      expect((await person.tool('RUN_LIST')).status).toBe(200);
    }
  });
});

describe('a session ends in every process', () => {
  /** Another process of the service. */
  let other: TestService;
  beforeAll(async () => {
    other = await startTestService({ database: service.database });
  });
  afterAll(() => other?.close());

  it.each<[string, (member: { id: string; person: ConsoleBrowser }) => Promise<unknown>, number, string]>([
    ['with signing out', ({ person }) => person.signOut(), 401, 'credential_invalid'],
    [
      'in an organization that the person is removed from',
      ({ id }) => query('DELETE FROM members WHERE user_id = $1', [id]),
      403,
      'organization_mismatch',
    ],
  ])('%s, with open streams', async (_how, end, status, code) => {
    const { id, person } = await signedIn(service);
    const { credentials } = person;
    const stream = await openStream(other.url, await createThread(service, agentId), person);
    expect(stream.status).toBe(200);
    const call = async () => supertest(service.url).post('/api/default/tools/RUN_LIST').set(credentials).send({});
    expect((await call()).status).toBe(200);
    await end({ id, person });
    expectProblem(await untilStatus(status, call), status, code);
    await stream.ended;
  });

  it('ends streams when the role changes', async () => {
    const { id, person } = await signedIn(service);
    const stream = await openStream(service.url, await createThread(service, agentId), person);
    expect(stream.status).toBe(200);
    await query(`UPDATE members SET role = 'member' WHERE user_id = $1`, [id]);
    await stream.ended;
    expectProblem(await untilStatus(403, () => person.tool('API_KEY_LIST')), 403, 'permission_denied');
  });
});
