import { beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageItem, ThreadItem } from '../../../src/runtime/threads/thread.dto.js';
import { createAgent, LONG, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

const PREFER = { prefer: 'wait=60' };

const app = useStarted(newTenant);
let agentId: string;

beforeAll(async () => {
  agentId = await createAgent(app);
});

const copy = (input: object) => app.tool('THREAD_COPY', input);
const copied = async (input: object): Promise<{ item: ThreadItem; thread: ThreadClient }> => {
  const { item } = await succeed<{ item: ThreadItem }>(app, 'THREAD_COPY', input);
  return { item, thread: new ThreadClient(app, agentId, item.id) };
};
/** What a copy takes along of a message. */
const contents = (messages: readonly MessageItem[]) =>
  messages.map(({ role, parts, metadata, created_at }) => ({ role, parts, metadata, created_at }));

/** A thread with these questions and their answers. */
async function conversation(...texts: string[]): Promise<{ thread: ThreadClient; messages: MessageItem[] }> {
  const thread = await ThreadClient.create(app, agentId);
  for (const text of texts) await thread.post(thread.request(text), { headers: PREFER }).expect(200);
  return { thread, messages: await thread.messages() };
}

describe('the copy of a thread', () => {
  it('has its messages under new ids, its title and its metadata', async () => {
    const { thread, messages } = await conversation('one', '/words 5\n/fail out of coal', 'three');
    const data = { title: 'Original', metadata: { customer: 'c-1' } };
    await succeed(app, 'COLLECTION_THREADS_UPDATE', { id: thread.id, data });
    const copy = await copied({ id: thread.id });
    expect(copy.item).toMatchObject({ ...data, virtual_mcp_id: agentId, status: 'completed', last_run: null });
    const own = await copy.thread.messages();
    expect(contents(own)).toEqual(contents(messages));
    expect(new Set([...own, ...messages].map(({ id }) => id)).size).toBe(2 * messages.length);
    expect(own.every(({ thread_id }) => thread_id === copy.item.id)).toBe(true);
  });

  it('goes on by itself', async () => {
    const { thread, messages } = await conversation('one', 'two');
    const copy = await copied({ id: thread.id, title: 'Other', new_id: `copy-${unusedId()}` });
    expect(copy.item).toMatchObject({ title: 'Other', id: expect.stringMatching(/^copy-/) });
    await copy.thread.post(copy.thread.request('three'), { headers: PREFER }).expect(200);
    expect((await copy.thread.messages()).slice(0, 4).map(({ role }) => role)).toEqual(
      messages.map(({ role }) => role),
    );
    expect(await copy.thread.messages()).toHaveLength(6);
    expect(await thread.messages()).toEqual(messages);
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread.id });
    expect(await copy.thread.messages()).toHaveLength(6);
  });

  it('ends with the message that it is asked for', async () => {
    const { thread, messages } = await conversation('one', 'two');
    for (const [index, { id: until_message_id }] of messages.entries()) {
      const copy = await copied({ id: thread.id, until_message_id });
      expect(contents(await copy.thread.messages())).toEqual(contents(messages.slice(0, index + 1)));
    }
  });

  it('can be copied and answered again', async () => {
    const { thread } = await conversation('one', '/random 5');
    const first = await copied({ id: thread.id });
    const second = await copied({ id: first.item.id });
    const [, , question, answer] = await second.thread.messages();
    const path = `agent-runtime/threads/${second.item.id}/regenerate`;
    const response = await fetch(`${app.url}/api/${app.org}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.apiKey}`, 'content-type': 'application/json', ...PREFER },
      body: JSON.stringify({ messageId: answer?.id }),
    });
    expect(response.status).toBe(200);
    const now = await second.thread.messages();
    expect(now).toHaveLength(4);
    expect(now[2]).toEqual(question);
    expect(now[3]?.id).not.toBe(answer?.id);
    expect(await first.thread.messages()).toHaveLength(4);
  });

  it('leaves out superseded messages', async () => {
    const { thread, messages } = await conversation('/random 5');
    const regenerated = await fetch(`${app.url}/api/${app.org}/agent-runtime/threads/${thread.id}/regenerate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.apiKey}`, ...PREFER },
    });
    expect(regenerated.status).toBe(200);
    const copy = await copied({ id: thread.id });
    expect(contents(await copy.thread.messages())).toEqual(contents(await thread.messages()));
    const superseded = await app.tool('THREAD_COPY', { id: thread.id, until_message_id: messages[1]?.id });
    expectProblem(superseded, 409, 'superseded');
  });

  it('leaves out an answer that is not finished', async () => {
    const { thread } = await conversation('one');
    const taskId = await thread.postMessage(`/words 5\n${LONG}`);
    await thread.postMessage('queued');
    await thread.waitFor(taskId, 'running');
    const stream = await thread.stream({ query: { taskId } });
    for await (const { data } of stream.frames()) if (data.includes('word5')) break;
    const copy = await copied({ id: thread.id });
    expect(copy.item.status).toBe('completed');
    expect((await copy.thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'user']);
    await thread.cancel().expect(202);
  });

  it('takes an id only once, also of several at the same time', async () => {
    const { thread } = await conversation('one');
    expectProblem(await copy({ id: thread.id, new_id: thread.id }), 409, 'thread_exists');
    const new_id = `copy-${unusedId()}`;
    const answers = await Promise.all([1, 2, 3].map(() => copy({ id: thread.id, new_id })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    expect(await new ThreadClient(app, agentId, new_id).messages()).toHaveLength(2);
  });

  it.each([
    ['an unknown thread', { id: 'nowhere' }, 404, 'thread_not_found'],
    ['an unknown message', { until_message_id: 'nobody' }, 404, 'message_not_found'],
    ['an id with a space', { new_id: 'a b' }, 400, 'invalid_request'],
    ['an empty title', { title: '' }, 400, 'invalid_request'],
    ['null', { until_message_id: null }, 400, 'invalid_request'],
    ['an unknown property', { metadata: {} }, 400, 'invalid_request'],
  ])('is refused for %s, and makes nothing', async (_, input, status, code) => {
    const { thread } = await conversation('one');
    const count = async () => (await succeed<{ totalCount: number }>(app, 'COLLECTION_THREADS_LIST', {})).totalCount;
    const before = await count();
    expectProblem(await copy({ id: thread.id, ...input }), status, code);
    expect(await count()).toBe(before);
  });

  it('is made of no other organization’s thread or message, and needs the permission', async () => {
    const { thread, messages } = await conversation('one');
    const second = await startSecondOrganization(app, 'second');
    expectProblem(await second.tool('THREAD_COPY', { id: thread.id }), 404, 'thread_not_found');
    const other = await conversation('two');
    const foreign = await copy({ id: other.thread.id, until_message_id: messages[0]?.id });
    expectProblem(foreign, 404, 'message_not_found');
    const permissions = { self: ['COLLECTION_THREADS_CREATE', 'COLLECTION_THREADS_GET'] };
    const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'k', permissions });
    expectProblem(await app.tool('THREAD_COPY', { id: thread.id }, key), 403, 'permission_denied');
  });
});
