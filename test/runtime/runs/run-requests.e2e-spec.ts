import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(newTenant);
let agentId: string;
let thread: ThreadClient;
let other: Awaited<ReturnType<typeof startSecondOrganization>>;

beforeAll(async () => {
  agentId = await createAgent(app);
  thread = await ThreadClient.create(app, agentId);
  other = await startSecondOrganization(app, 'other');
});

const part = { type: 'text', text: 'Hello' };
const user = { role: 'user', parts: [part] };

/** A good run request, with what a test changes about it. */
function request(changes: object = {}): object {
  return { messages: [user], agent: { id: agentId }, ...changes };
}

async function rows(): Promise<unknown> {
  return app.query(
    `SELECT (SELECT count(*) FROM runs WHERE organization_id = o.id) AS runs,
            (SELECT count(*) FROM messages WHERE organization_id = o.id) AS messages
       FROM organizations o WHERE slug = $1`,
    [app.org],
  );
}

/** The request must be refused with a problem document (RFC 9457), and leave nothing behind. */
async function expectRefused(
  expected: { status: number; code: string; path?: string },
  send: () => ReturnType<ThreadClient['post']>,
): Promise<void> {
  const before = await rows();
  const answer = await send();
  const { status, code, path } = expected;
  expect(answer.headers['content-type']).toContain('application/problem+json');
  expect(answer.body).toMatchObject({
    type: `urn:signalbox:error:${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    code,
    request_id: answer.headers['x-request-id'],
    ...(path === undefined ? {} : { errors: expect.arrayContaining([expect.objectContaining({ path })]) }),
  });
  expect(answer.status).toBe(status);
  expect(await rows()).toEqual(before);
  expect(await thread.status()).toBe('completed');
}

describe('a run request is refused', () => {
  const messages = (...list: object[]): object => request({ messages: list });

  it.each([
    ['with an unknown property', () => request({ stream: true }), 'unknown_property', 'stream'],
    ['with one in agent', () => request({ agent: { id: agentId, name: 'x' } }), 'unknown_property', 'agent.name'],
    ['with one in a message', () => messages({ ...user, name: 'x' }), 'unknown_property', 'messages[0].name'],
    [
      'with one in a part',
      () => messages({ role: 'user', parts: [{ ...part, state: 'done' }] }),
      'unknown_property',
      'messages[0].parts[0].state',
    ],
    ['with constructor', () => request({ constructor: { a: 1 } }), 'unknown_property', 'constructor'],
    ['with thread_id', () => request({ thread_id: thread.id }), 'thread_id_in_body', 'thread_id'],
    ['with two user messages', () => messages(user, user), 'user_message_count', 'messages'],
    ['without messages', () => messages(), 'user_message_count', 'messages'],
    ['with system alone', () => messages({ ...user, role: 'system' }), 'user_message_count', 'messages'],
    [
      'with an assistant message',
      () => messages({ ...user, role: 'assistant' }, user),
      'role_not_allowed',
      'messages[0].role',
    ],
    [
      'with another part',
      () => messages({ role: 'user', parts: [part, { type: 'image', url: 'data:,' }] }),
      'part_type_not_supported',
      'messages[0].parts[1].type',
    ],
    ['without parts', () => messages({ role: 'user', parts: [] }), 'invalid_request', 'messages[0].parts'],
    [
      'with a number for text',
      () => messages({ role: 'user', parts: [{ type: 'text', text: 1 }] }),
      'invalid_request',
      'messages[0].parts[0].text',
    ],
    ['with a bad message id', () => messages({ ...user, id: 'a b' }), 'invalid_request', 'messages[0].id'],
    [
      'with NUL',
      () => messages({ role: 'user', parts: [{ type: 'text', text: 'a\u0000b' }] }),
      'invalid_request',
      'messages[0].parts[0].text',
    ],
    [
      'with half a surrogate pair',
      () => messages({ role: 'user', parts: [{ type: 'text', text: 'a\ud83d' }] }),
      'invalid_request',
      'messages[0].parts[0].text',
    ],
    ['with messages that are no list', () => request({ messages: user }), 'invalid_request', 'messages'],
    ['with null for a message', () => request({ messages: [null, user] }), 'invalid_request', 'messages[0]'],
    ['without agent', () => ({ messages: [user] }), 'invalid_request', 'agent'],
    ['with a list for agent', () => request({ agent: [] }), 'invalid_request', 'agent'],
    ['with a temperature of 3', () => request({ temperature: 3 }), 'temperature_out_of_range', 'temperature'],
    ['with a negative one', () => request({ temperature: -0.1 }), 'temperature_out_of_range', 'temperature'],
    ['with null for it', () => request({ temperature: null }), 'temperature_out_of_range', 'temperature'],
    ['with an unknown tier', () => request({ tier: 'huge' }), 'unknown_tier', 'tier'],
    ['with a list as the body', () => [request()], 'invalid_request', ''],
  ])('%s', async (_, body, code, path) => {
    await expectRefused({ status: 400, code, path }, () => thread.post(body()));
  });

  it.each([
    ['that is malformed', '{"messages":', 'malformed_json'],
    ['with __proto__', '{"__proto__":{"a":1}}', 'malformed_json'],
    ['that is nested without end', '['.repeat(100_000), 'malformed_json'],
    ['that is empty', '', 'invalid_request'],
  ])('for JSON %s', async (_, body, code) => {
    await expectRefused({ status: 400, code }, () => thread.post(body));
  });

  it('over 1 MiB', async () => {
    const large = request({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(1_048_576) }] }] });
    await expectRefused({ status: 413, code: 'body_too_large' }, () => thread.post(large));
  });

  it('of another content type', async () => {
    const headers = { 'content-type': 'text/plain' };
    await expectRefused({ status: 415, code: 'unsupported_media_type' }, () => thread.post('hello', { headers }));
  });

  it('with an invalid Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const expected = { status: 400, code: 'invalid_request', path: 'Idempotency-Key' };
    await expectRefused(expected, () => thread.post(request(), { headers }));
  });

  it.each([
    ['there is no such agent', unusedId],
    ['the id is no UUID', () => 'my-agent'],
  ])('when %s', async (_, id) => {
    const expected = { status: 404, code: 'agent_not_found', path: 'agent.id' };
    await expectRefused(expected, () => thread.post(request({ agent: { id: id() } })));
  });

  it("for another agent than the thread's", async () => {
    const stranger = await createAgent(app);
    const expected = { status: 400, code: 'agent_mismatch', path: 'agent.id' };
    await expectRefused(expected, () => thread.post(request({ agent: { id: stranger } })));
  });

  it.each(['nowhere', '%00', 'a%20b', '..%2f', 'x'.repeat(129)])('on the thread %s', async (id) => {
    const nowhere = new ThreadClient(app, agentId, id);
    await expectRefused({ status: 404, code: 'thread_not_found' }, () => nowhere.post(request()));
  });

  it('on a thread of another organization', async () => {
    const { body: agent } = await other.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Theirs' } });
    const theirs = (agent as { item: { id: string } }).item.id;
    await other.tool('COLLECTION_THREADS_CREATE', { data: { id: 'theirs', title: 'T', virtual_mcp_id: theirs } });
    const foreign = new ThreadClient(app, agentId, 'theirs');
    await expectRefused({ status: 404, code: 'thread_not_found' }, () => foreign.post(request()));
    const expected = { status: 404, code: 'agent_not_found' };
    await expectRefused(expected, () => thread.post(request({ agent: { id: theirs } })));
  });
});

describe('a run request is refused for its key', () => {
  async function createKey(data: object = {}): Promise<{ id: string; key: string }> {
    return succeed(app, 'API_KEY_CREATE', { name: 'Short', permissions: { self: [] }, ...data });
  }

  it('that is none', async () => {
    const expected = { status: 401, code: 'credential_invalid' };
    await expectRefused(expected, () => thread.post(request(), { key: 'nonsense' }));
    await expectRefused(expected, () => thread.post(request(), { headers: { authorization: 'Basic abc' } }));
  });

  it('of another organization', async () => {
    const { body } = await other.tool('API_KEY_CREATE', { name: 'Theirs', permissions: { self: ['*'] } });
    const { key } = body as { key: string };
    await expectRefused({ status: 403, code: 'organization_mismatch' }, () => thread.post(request(), { key }));
  });

  it('that has expired', async () => {
    const { key } = await createKey({ expiresIn: 1 });
    await eventually(async () => expect((await app.tool('RUN_LIST', {}, key)).status).toBe(401));
    await expectRefused({ status: 401, code: 'credential_expired' }, () => thread.post(request(), { key }));
  });

  it('that was deleted', async () => {
    const { id, key } = await createKey();
    const good = await ThreadClient.create(app, agentId);
    const accepted = await good.post(request(), { key });
    expect(accepted.status).toBe(202);
    // Its answer would count as something that the refused request left behind.
    await good.waitFor((accepted.body as { taskId: string }).taskId, 'completed');
    await succeed(app, 'API_KEY_DELETE', { id });
    await expectRefused({ status: 401, code: 'credential_invalid' }, () => thread.post(request(), { key }));
  });
});
