import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { AnswerBudget } from '../../../src/core/answers/answer-budget.js';
import { MAX_PAGE_BYTES } from '../../../src/core/paging/paginate.js';
import { startTestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const MEGABYTE = 1_000_000;
const MESSAGES = 12;

interface Page {
  items: { id: string }[];
  totalCount: number;
  hasMore: boolean;
  nextCursor: string | null;
}

const service = useStarted(startTestApp);
let database: DataSource;
let organizationId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  const [organization] = await database.query<{ id: string }[]>('SELECT id FROM organizations');
  organizationId = organization?.id ?? '';
});

async function createAgent(data: object = {}): Promise<string> {
  const answer = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', ...data } }).expect(200);
  return answer.body.item.id as string;
}

/** A thread with messages of the given sizes in bytes. Compressible text takes little storage but counts in full. */
async function createThread(sizes: readonly number[], isCompressible = false): Promise<string> {
  const data = { title: 'Thread', virtual_mcp_id: await createAgent() };
  const created = await service.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
  const threadId = created.body.item.id as string;
  for (const [position, size] of sizes.entries()) {
    const text = isCompressible ? 'x'.repeat(size) : randomBytes(size / 2).toString('hex');
    await database.query(
      `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
       VALUES ($1, $2, $3, $4, $5, 0, 'user', $6)`,
      [
        organizationId,
        threadId,
        `message-${position}`,
        randomUUID(),
        position,
        JSON.stringify([{ type: 'text', text }]),
      ],
    );
  }
  return threadId;
}

/** Every page of a list with its size in bytes. */
async function pagesOf(tool: string, input: object): Promise<{ page: Page; bytes: number }[]> {
  const pages: { page: Page; bytes: number }[] = [];
  let cursor: string | null = null;
  do {
    const answer = await service.tool(tool, { ...input, cursor }).expect(200);
    const page = answer.body as Page;
    expect(page.hasMore).toBe(page.nextCursor !== null);
    pages.push({ page, bytes: Buffer.byteLength(answer.text) });
    cursor = page.nextCursor;
  } while (cursor !== null);
  return pages;
}

async function expectBounded(tool: string, input: object, ids: readonly string[]): Promise<void> {
  const pages = await pagesOf(tool, { limit: 1000, ...input });
  expect(pages.length).toBeGreaterThan(1);
  for (const { page, bytes } of pages) {
    expect(page.items.length === 1 || bytes <= MAX_PAGE_BYTES).toBe(true);
    expect(page.totalCount).toBe(ids.length);
  }
  expect(pages.flatMap(({ page }) => page.items.map(({ id }) => id)).toSorted()).toEqual(ids.toSorted());
}

const messageIds = (count: number): string[] => Array.from({ length: count }, (_, n) => `message-${n}`);

describe('a page of large rows', () => {
  it.each<[string, boolean]>([
    ['random', false],
    ['compressible', true],
  ])('of messages of %s text ends early, and the next page continues', async (_what, isCompressible) => {
    const threadId = await createThread(Array<number>(MESSAGES).fill(MEGABYTE), isCompressible);
    await expectBounded('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId }, messageIds(MESSAGES));
    await expectBounded(
      'COLLECTION_THREAD_MESSAGES_LIST',
      { thread_id: threadId, order: 'desc' },
      messageIds(MESSAGES),
    );
  });

  it('measures messages stored without a size', async () => {
    const threadId = await createThread(Array<number>(MESSAGES).fill(MEGABYTE));
    await database.query('UPDATE messages SET bytes = NULL WHERE thread_id = $1', [threadId]);
    await expectBounded('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId }, messageIds(MESSAGES));
  });

  it('contains only one message if that exceeds the size limit', async () => {
    const threadId = await createThread([1000, 6 * MEGABYTE, 1000]);
    const pages = await pagesOf('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
    expect(pages.map(({ page }) => page.items.map(({ id }) => id))).toEqual([
      ['message-0'],
      ['message-1'],
      ['message-2'],
    ]);
  });

  it('that has no next page ends with the last row, also when rows are added while it is read', async () => {
    const threadId = await createThread(Array<number>(5).fill(1000));
    const add = (position: number): Promise<unknown> =>
      database.query(
        `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
         VALUES ($1, $2, $3, $4, $5, 0, 'user', '[]')`,
        [organizationId, threadId, `message-${position}`, randomUUID(), position],
      );
    const reading = new AbortController();
    const adding = (async () => {
      for (let position = 5; !reading.signal.aborted; position++) await add(position);
    })();
    try {
      for (let read = 0; read < 100; read++) {
        const input = { thread_id: threadId, order: 'desc', limit: 1000 };
        const { body } = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', input).expect(200);
        const { items, hasMore } = body as Page;
        if (!hasMore) expect(items.at(-1)?.id).toBe('message-0');
      }
    } finally {
      reading.abort();
      await adding;
    }
  });

  it.each([63, 64, 65, 127, 128, 129])('of %d rows after an offset has all of them', async (limit) => {
    const messages = 130;
    const offset = 2;
    const threadId = await createThread(Array.from({ length: messages }, () => 2));
    const { body } = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId, offset, limit });
    const { items, hasMore } = body as Page;
    const expected = Array.from({ length: Math.min(limit, messages - offset) }, (_, n) => `message-${n + offset}`);
    expect(items.map(({ id }) => id)).toEqual(expected);
    expect(hasMore).toBe(offset + limit < messages);
  });

  it('of agents ends early', async () => {
    const instructions = 'é'.repeat(100_000);
    const ids = await Promise.all(Array.from({ length: 30 }, () => createAgent({ title: 'Large', instructions })));
    const where = { field: ['title'], operator: 'eq', value: 'Large' };
    await expectBounded(
      'COLLECTION_VIRTUAL_MCP_LIST',
      { where, orderBy: [{ field: ['title'], direction: 'asc' }] },
      ids,
    );
  });

  it('of connections ends early', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) {
      const stdio = JSON.stringify({ command: 'node', args: [`${n}${'a'.repeat(400_000)}`], cwd: null });
      const [row] = await database.query<{ id: string }[]>(
        `INSERT INTO connections (id, organization_id, connection_type, title, stdio)
         VALUES (gen_random_uuid(), $1, 'STDIO', 'Large', $2) RETURNING id`,
        [organizationId, stdio],
      );
      ids.push(row?.id ?? '');
    }
    const where = { field: ['connection_type'], operator: 'eq', value: 'STDIO' };
    await expectBounded('COLLECTION_CONNECTIONS_LIST', { where }, ids);
  });

  it('of audit records ends early', async () => {
    await database.query(
      `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, request_id, public, arguments)
       SELECT $1, now(), gen_random_uuid(), 'proxy', 'large', 'success', n, 'r', false, jsonb_build_object('text', repeat('x', 16000))
         FROM generate_series(1, 600) n`,
      [organizationId],
    );
    const ids = await database.query<{ id: string }[]>(`SELECT id FROM audit_records WHERE tool_name = 'large'`);
    const where = { field: ['tool_name'], operator: 'eq', value: 'large' };
    const orderBy = [{ field: ['duration_ms'], direction: 'asc' }];
    await expectBounded(
      'MONITORING_LOGS_LIST',
      { where, orderBy },
      ids.map(({ id }) => id),
    );
  });
});

describe('an offset', () => {
  it('above 100,000 is rejected in favor of cursors', async () => {
    await service.tool('COLLECTION_THREADS_LIST', { offset: 100_000 }).expect(200);
    await service.tool('COLLECTION_THREADS_LIST', { offset: 100_001 }).expect(400);
    const threadId = await createThread([]);
    await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId, offset: 100_001 }).expect(400);
  });
});

describe('the memory of a pending response', () => {
  const held = (): number => service.app.get(AnswerBudget, { strict: false }).heldBytes;

  /** Sends a request on a connection that does not read the response. */
  async function ask(path: string, body: object): Promise<Socket> {
    const { hostname, port } = new URL(service.url);
    const client = connect(Number(port), hostname);
    const json = JSON.stringify(body);
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${service.apiKey}\r\n` +
        'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n' +
        `content-length: ${json.length}\r\n\r\n${json}`,
    );
    await once(client, 'readable');
    return client;
  }

  it('is released after it has been sent', async () => {
    const threadId = await createThread([MEGABYTE]);
    await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId }).expect(200);
    await eventually(() => expect(held()).toBe(0));
  });

  it.each<[string, (threadId: string) => [string, object]]>([
    ['HTTP', (thread_id) => ['/api/default/tools/COLLECTION_THREAD_MESSAGES_LIST', { thread_id }]],
    [
      'MCP',
      (thread_id) => {
        const params = { name: 'COLLECTION_THREAD_MESSAGES_LIST', arguments: { thread_id } };
        return ['/api/default/mcp/self', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }];
      },
    ],
  ])(
    'over %s stays reserved while its client does not read, and is released when the client disconnects',
    async (_face, question) => {
      // More than the kernel buffers for a connection.
      const threadId = await createThread(Array<number>(MESSAGES).fill(MEGABYTE));
      const client = await ask(...question(threadId));
      await sleep(200);
      expect(held()).toBeGreaterThan(3 * MEGABYTE);
      client.destroy();
      await eventually(() => expect(held()).toBe(0));
    },
  );

  it('is limited per organization and becomes available again', async () => {
    const threadId = await createThread(Array<number>(MESSAGES).fill(MEGABYTE));
    const budget = service.app.get(AnswerBudget, { strict: false });
    const organization = { id: organizationId, slug: 'default' };
    const others = Array.from({ length: 50 }, (_, n) => budget.openAnswer({ organization, callerId: `key ${n}` }));
    for (const other of others) {
      expect(() => {
        for (;;) other.reserve(MEGABYTE);
      }).toThrow('Responses in flight');
    }
    const list = (): supertest.Test => service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
    const refused = await list().expect(503);
    expect(refused.body).toMatchObject({ code: 'answer_memory_exhausted' });
    expect(refused.headers['retry-after']).toBe('1');
    const overMcp = await supertest(service.url)
      .post('/api/default/mcp/self')
      .set({ authorization: `Bearer ${service.apiKey}`, accept: 'application/json, text/event-stream' })
      .send({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'COLLECTION_THREAD_MESSAGES_LIST', arguments: { thread_id: threadId } },
      });
    expect(overMcp.text).toContain('answer_memory_exhausted');
    for (const other of others) other.release();
    await list().expect(200);
  });
});
