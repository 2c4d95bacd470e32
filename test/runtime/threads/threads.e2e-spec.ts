import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { eventually } from '../../support/eventually.js';
import { LONG } from '../../support/agent-runs.js';
import { useStarted } from '../../support/use-started.js';

interface Thread {
  id: string;
  title: string;
  virtual_mcp_id: string;
  status: string;
}

interface MessagePage {
  items: { id: string; role: string; parts: { type: string; text?: string }[] }[];
  totalCount: number;
  hasMore: boolean;
  nextCursor: string | null;
}

const service = useStarted(newTenant);
let agentId: string;
let otherAgentId: string;

beforeAll(async () => {
  [agentId, otherAgentId] = [await createAgent(), await createAgent()];
});

async function createAgent(): Promise<string> {
  const answer = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
  return answer.body.item.id as string;
}

function create(data: object = {}): supertest.Test {
  return service.tool('COLLECTION_THREADS_CREATE', { data: { title: 'Thread', virtual_mcp_id: agentId, ...data } });
}

async function createThread(data: object = {}): Promise<Thread> {
  return (await create(data).expect(200)).body.item as Thread;
}

function runtime(threadId: string, action: 'messages' | 'cancel', body: object): supertest.Test {
  return supertest(service.url)
    .post(`/api/${service.org}/agent-runtime/threads/${threadId}/${action}`)
    .set('authorization', `Bearer ${service.apiKey}`)
    .send(body);
}

async function post(threadId: string, text: string): Promise<void> {
  const messages = [{ role: 'user', parts: [{ type: 'text', text }] }];
  await runtime(threadId, 'messages', { messages, agent: { id: agentId } }).expect(202);
}

async function get(id: string): Promise<Thread> {
  return (await service.tool('COLLECTION_THREADS_GET', { id }).expect(200)).body.item as Thread;
}

/** Waits until nothing runs on the thread. */
function settled(id: string): Promise<Thread> {
  return eventually(async () => {
    const thread = await get(id);
    expect(thread.status).not.toBe('in_progress');
    return thread;
  });
}

async function messages(input: object): Promise<MessagePage> {
  const answer = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', input);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as MessagePage;
}

function textsOf({ items }: MessagePage): string[] {
  return items.map(({ parts }) => parts.map(({ text = '' }) => text).join(''));
}

describe('threads', () => {
  it('are created, read, listed, renamed and deleted', async () => {
    const created = await createThread({ title: 'First' });
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      title: 'First',
      virtual_mcp_id: agentId,
      status: 'completed',
      metadata: {},
      last_run: null,
      question: null,
      tools: [],
      total_tokens: 0,
      cost_usd: null,
      duration_ms: 0,
      created_by: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await get(created.id)).toEqual(created);

    const where = { field: ['id'], operator: 'eq', value: created.id };
    const listed = await service.tool('COLLECTION_THREADS_LIST', { where });
    expect(listed.body).toEqual({ items: [created], totalCount: 1, hasMore: false, nextCursor: null });

    const renamed = await service.tool('COLLECTION_THREADS_UPDATE', { id: created.id, data: { title: 'Second' } });
    expect(renamed.body.item).toMatchObject({ id: created.id, title: 'Second' });
    const untouched = await service.tool('COLLECTION_THREADS_UPDATE', { id: created.id, data: {} });
    expect(untouched.body.item).toEqual(renamed.body.item);

    const deleted = await service.tool('COLLECTION_THREADS_DELETE', { id: created.id });
    expect(deleted.body.item).toEqual(renamed.body.item);
    expectProblem(await service.tool('COLLECTION_THREADS_GET', { id: created.id }), 404, 'thread_not_found');
  });

  it('that do not exist are 404 for every tool', async () => {
    const calls: [string, object][] = [
      ['COLLECTION_THREADS_GET', { id: 'nowhere' }],
      ['COLLECTION_THREADS_UPDATE', { id: 'nowhere', data: { title: 'x' } }],
      ['COLLECTION_THREADS_DELETE', { id: 'nowhere' }],
      ['COLLECTION_THREAD_MESSAGES_LIST', { thread_id: 'nowhere' }],
    ];
    for (const [name, input] of calls) expectProblem(await service.tool(name, input), 404, 'thread_not_found');
  });

  it('need an agent that exists', async () => {
    const problem = expectProblem(await create({ virtual_mcp_id: randomUUID() }), 404, 'agent_not_found');
    expect(problem.errors?.[0]?.path).toBe('data.virtual_mcp_id');
  });

  it('are not made for a connection that is no agent', async () => {
    const data = { connection_type: 'HTTP', title: 'Plain', connection_url: 'http://127.0.0.1:9/mcp' };
    const connection = await service.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
    expectProblem(await create({ virtual_mcp_id: connection.body.item.id }), 404, 'agent_not_found');
  });

  it.each([
    ['no title', { title: undefined }, 'data.title'],
    ['an empty title', { title: '' }, 'data.title'],
    ['a title of 257 characters', { title: 'x'.repeat(257) }, 'data.title'],
    ['a status', { status: 'failed' }, 'data.status'],
    ['an id of 129 characters', { id: 'x'.repeat(129) }, 'data.id'],
    ['an empty id', { id: '' }, 'data.id'],
    ['an id with a slash', { id: 'a/b' }, 'data.id'],
    ['an id with a line break at its end', { id: 'ab\n' }, 'data.id'],
    ['an id that is null', { id: null }, 'data.id'],
    ['an id that is a number', { id: 7 }, 'data.id'],
  ])('with %s are refused', async (_what, data, path) => {
    const problem = expectProblem(await create(data), 400, 'invalid_request');
    expect(problem.errors?.map((fault) => fault.path)).toContain(path);
  });
});

describe("an id of the caller's own", () => {
  it('can have 128 characters and works on every route', async () => {
    const id = `A-z_9${'x'.repeat(123)}`;
    expect(await createThread({ id })).toMatchObject({ id, status: 'completed' });
    await post(id, 'hello');
    expect(await settled(id)).toMatchObject({ id, status: 'completed' });
    expect(textsOf(await messages({ thread_id: id }))).toEqual(['hello', 'You said: hello']);
  });

  it('sent again answers the thread that exists', async () => {
    const first = await createThread({ id: 'again', title: 'First' });
    expect(await createThread({ id: 'again', title: 'Second' })).toEqual(first);
  });

  it('that another agent has is a conflict', async () => {
    await createThread({ id: 'taken' });
    expectProblem(await create({ id: 'taken', virtual_mcp_id: otherAgentId }), 409, 'thread_exists');
  });

  it('names one thread when ten ask at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => createThread({ id: 'race', title: `${n}` })),
    );
    expect(new Set(answers.map(({ title }) => title)).size).toBe(1);
    const where = { field: ['id'], operator: 'eq', value: 'race' };
    expect((await service.tool('COLLECTION_THREADS_LIST', { where })).body.totalCount).toBe(1);
  });

  it('is case-sensitive', async () => {
    await createThread({ id: 'Case', title: 'Upper' });
    await createThread({ id: 'case', title: 'lower' });
    expect(await get('Case')).toMatchObject({ title: 'Upper' });
  });

  it('can be used in two organizations, which do not see each other', async () => {
    const neighbour = await startSecondOrganization(service, 'neighbour');
    const agent = await neighbour.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Theirs' } });
    const mine = await createThread({ id: 'shared', title: 'Mine' });
    const data = { id: 'shared', title: 'Theirs', virtual_mcp_id: agent.body.item.id };
    expect((await neighbour.tool('COLLECTION_THREADS_CREATE', { data })).body.item).toMatchObject({ title: 'Theirs' });
    expect(await get('shared')).toEqual(mine);

    await createThread({ id: 'only-mine' });
    expectProblem(await neighbour.tool('COLLECTION_THREADS_GET', { id: 'only-mine' }), 404, 'thread_not_found');
    expectProblem(await neighbour.tool('COLLECTION_THREADS_DELETE', { id: 'only-mine' }), 404, 'thread_not_found');
    const listed = await neighbour.tool('COLLECTION_THREADS_LIST', {});
    expect(listed.body).toMatchObject({ totalCount: 1, items: [{ id: 'shared', title: 'Theirs' }] });
    const foreign = await neighbour.tool('COLLECTION_THREADS_CREATE', {
      data: { title: 'x', virtual_mcp_id: agentId },
    });
    expectProblem(foreign, 404, 'agent_not_found');
  });
});

describe('a thread on which a run is in progress', () => {
  it('cannot be deleted until the run has ended', async () => {
    const { id } = await createThread();
    await post(id, LONG);
    expect(await get(id)).toMatchObject({ status: 'in_progress' });
    expectProblem(await service.tool('COLLECTION_THREADS_DELETE', { id }), 409, 'conflict');
    await runtime(id, 'cancel', {}).expect(202);
    expect(await settled(id)).toMatchObject({ status: 'failed' });
    await service.tool('COLLECTION_THREADS_DELETE', { id }).expect(200);
    expectProblem(await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: id }), 404, 'thread_not_found');
  });

  it('ends failed when the model fails', async () => {
    const { id } = await createThread();
    await post(id, '/fail on request');
    expect(await settled(id)).toMatchObject({ status: 'failed' });
  });
});

describe('the messages of a thread', () => {
  const TRANSCRIPT = ['one', 'You said: one', 'two', 'You said: two', 'three', 'You said: three'];
  let threadId: string;

  beforeAll(async () => {
    threadId = (await createThread()).id;
    for (const text of ['one', 'two', 'three']) {
      await post(threadId, text);
      await settled(threadId);
    }
  });

  async function walk(input: object): Promise<string[]> {
    const texts: string[] = [];
    let cursor: string | null = null;
    do {
      const page: MessagePage = await messages({ thread_id: threadId, ...input, cursor });
      expect(page.totalCount).toBe(6);
      texts.push(...textsOf(page));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return texts;
  }

  it('are complete records, oldest first', async () => {
    const page = await messages({ thread_id: threadId });
    expect(page).toMatchObject({ totalCount: 6, hasMore: false, nextCursor: null });
    expect(textsOf(page)).toEqual(TRANSCRIPT);
    expect(page.items[1]).toEqual({
      id: expect.any(String),
      thread_id: threadId,
      role: 'assistant',
      parts: expect.any(Array),
      metadata: expect.objectContaining({ taskId: expect.any(String), model: 'builtin/echo', finishReason: 'stop' }),
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
  });

  it.each([1, 2, 4, 6])('are walked %d at a time, in either order', async (limit) => {
    expect(await walk({ limit })).toEqual(TRANSCRIPT);
    expect(await walk({ limit, order: 'asc' })).toEqual(TRANSCRIPT);
    expect(await walk({ limit, order: 'desc' })).toEqual(TRANSCRIPT.toReversed());
  });

  it.each(['asc', 'desc'])('are walked once each (%s) while messages are appended', async (order) => {
    const id = (await createThread()).id;
    const ask = async (text: string): Promise<void> => {
      await post(id, text);
      await settled(id);
    };
    for (const text of ['1', '2', '3']) await ask(text);
    const texts: string[] = [];
    for (let [cursor, added]: [string | null | undefined, number] = [undefined, 0]; cursor !== null;) {
      const page: MessagePage = await messages({
        thread_id: id,
        order,
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      });
      texts.push(...textsOf(page));
      cursor = page.nextCursor;
      if (added++ < 2) await ask(`appended ${added}`);
    }
    const pairs = (...asked: string[]): string[] => asked.flatMap((text) => [text, `You said: ${text}`]);
    // The place of what is appended is before the first page of a descending list.
    const expected =
      order === 'asc' ? pairs('1', '2', '3', 'appended 1', 'appended 2') : pairs('1', '2', '3').toReversed();
    expect(texts).toEqual(expected);
  });

  it('can be entered by offset', async () => {
    expect(textsOf(await messages({ thread_id: threadId, offset: 4 }))).toEqual(TRANSCRIPT.slice(4));
  });

  it('refuse a cursor of another thread or order', async () => {
    const { nextCursor } = await messages({ thread_id: threadId, limit: 1 });
    const other = await createThread();
    for (const input of [{ thread_id: other.id }, { thread_id: threadId, order: 'desc' }]) {
      const answer = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { ...input, cursor: nextCursor });
      expectProblem(answer, 400, 'invalid_cursor');
    }
  });

  it.each([
    ['a limit of 0', { limit: 0 }, 'limit'],
    ['a limit that is text', { limit: '5' }, 'limit'],
    ['an order that is none', { order: 'newest' }, 'order'],
    ['a filter', { where: {} }, 'where'],
  ])('refuse %s', async (_what, input, path) => {
    const answer = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId, ...input });
    expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.path).toBe(path);
  });
});
