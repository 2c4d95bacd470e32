import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunStats } from '../../../src/runtime/runs/run-stats.dto.js';
import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import type { ThreadItem } from '../../../src/runtime/threads/thread.dto.js';
import type { ThreadStats } from '../../../src/runtime/threads/thread-stats.dto.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { keyWith } from '../../support/proxy-connections.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { Upstreams } from '../../support/upstreams.js';

interface Page<Item> {
  items: Item[];
  totalCount: number;
  nextCursor: string | null;
}

let app: Tenant;
let other: Tenant;
const threads: Record<string, ThreadClient> = {};
const upstreams = new Upstreams();

/** Asks on a new thread, and waits for the end of the run. */
async function ask(service: Tenant, agentId: string, name: string, text: string): Promise<ThreadClient> {
  const thread = await ThreadClient.create(service, agentId, name);
  await thread.waitFor(await thread.postMessage(text), 'completed', 'failed');
  return thread;
}

beforeAll(async () => {
  [app, other] = await Promise.all([newTenant(), newTenant()]);
  const connection = await upstreams.connection(app, 'Orders', 'find_order');
  const agentId = await createAgent(app, [connection]);
  for (const [name, text] of [
    ['refund', 'The customer wants a refund for the order 4711'],
    ['delivery', 'Where is the delivery of Zoë? “Urgent”, <b>before</b> testing: ticket-815 заказ'],
    ['looked-up', '/call find_order {"text":"a secret argument"}'],
  ] as const)
    threads[name] = await ask(app, agentId, name, text);
  await ask(other, await createAgent(other), 'foreign', 'Another refund for the order 4711');
}, 120_000);
afterAll(async () => {
  await Promise.all([app?.close(), other?.close()]);
  await upstreams.close();
});

const text = (value: string): object => ({ field: ['text'], operator: 'matches', value });
const is = (field: string, value: string): object => ({ field: [field], operator: 'eq', value });
const found = async (where: object, service = app): Promise<string[]> =>
  (await succeed<Page<ThreadItem>>(service, 'COLLECTION_THREADS_LIST', { where })).items.map(({ id }) => id).toSorted();
const runsWith = async (where: object): Promise<string[]> =>
  (await succeed<Page<RunItem>>(app, 'RUN_LIST', { where })).items.map((run) => run.thread_id);

describe('searches of threads and runs', () => {
  it.each([
    ['refund', ['refund']],
    ['REFUND order', ['refund']],
    ['"order 4711"', ['refund']],
    ['"4711 order"', []],
    ['refund or delivery', ['delivery', 'refund']],
    ['the -refund', ['delivery']],
    ['deliv', ['delivery']],
    ['zoë', ['delivery']],
    ['заказ', ['delivery']],
    ['815', ['delivery']],
    ['ticket-815', ['delivery']],
    ['“urgent”', ['delivery']],
    ['urgent before', ['delivery']],
    ['delivery -test', ['delivery']],
    ['refund - order', ['refund']],
    ['thread', ['delivery', 'looked-up', 'refund']],
    ['secret', ['looked-up']],
    ['@', []],
    [`' | !"( & :*`, []],
  ])('finds %j in the words of threads', async (words, ids) => {
    expect(await found(text(words))).toEqual(ids);
  });

  it('finds words of titles, also in threads without messages, and no longer those of before', async () => {
    const { virtual_mcp_id } = (await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_GET', { id: 'refund' }))
      .item;
    const data = { id: 'titled', title: 'A complaint', virtual_mcp_id };
    await succeed(app, 'COLLECTION_THREADS_CREATE', { data });
    expect(await found(text('complaint'))).toEqual(['titled']);
    await succeed(app, 'COLLECTION_THREADS_UPDATE', { id: 'titled', data: { title: 'Praise' } });
    expect(await found(text('complaint'))).toEqual([]);
    expect(await found(text('praise'))).toEqual(['titled']);
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: 'titled' });
    expect(await found(text('praise'))).toEqual([]);
  });

  it('finds nothing of another organization, whatever is asked', async () => {
    expect(await found(text('refund'), other)).toEqual(['foreign']);
    const [{ id }] = (await app.query<{ id: string }>('SELECT id FROM organizations WHERE slug = $1', [app.org])) as [
      { id: string },
    ];
    expect(await found(text(`@${id}`), other)).toEqual([]);
    expect(await found(text(`'@${id}'`), other)).toEqual([]);
    expect(await found({ operator: 'not', conditions: [text('nothing-like-this')] }, other)).toEqual(['foreign']);
  });

  it('finds runs by their question and by the tools that they called', async () => {
    expect(await runsWith({ field: ['question'], operator: 'matches', value: 'refund' })).toEqual(['refund']);
    const [run] = await runsWith(is('tool', 'find_order'));
    expect(run).toBe('looked-up');
    expect(await found(is('tool', 'find_order'))).toEqual(['looked-up']);
    expect(await found(is('tool', 'find'))).toEqual([]);
    expect(await found(is('model', 'builtin/echo'))).toHaveLength(3);
    expect(await found(is('user_id', '00000000-0000-7000-8000-000000000000'))).toEqual([]);
  });

  it('finds a run by its question after others have taken its place, and no longer the thread', async () => {
    const { virtual_mcp_id } = (await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_GET', { id: 'refund' }))
      .item;
    const thread = await ask(app, virtual_mcp_id, 'replaced', 'A voucher');
    await app.query(
      `UPDATE messages SET superseded_by = run_id FROM organizations o
        WHERE o.id = organization_id AND o.slug = $1 AND thread_id = $2`,
      [app.org, thread.id],
    );
    expect(await runsWith({ field: ['question'], operator: 'matches', value: 'voucher' })).toEqual(['replaced']);
    expect(await found(text('voucher'))).toEqual([]);
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread.id });
  });

  it('shows what a thread was asked, called and used', async () => {
    const { item } = await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_GET', { id: 'looked-up' });
    const { items } = await succeed<Page<RunItem>>(app, 'RUN_LIST', { where: is('thread_id', 'looked-up') });
    expect(items).toEqual([expect.objectContaining({ tools: ['find_order'] })]);
    expect(item).toMatchObject({
      question: '/call find_order {"text":"a secret argument"}',
      tools: ['find_order'],
      total_tokens: items[0]?.usage?.totalTokens,
      duration_ms: items[0]?.duration_ms,
      cost_usd: null,
      last_run: { model: 'builtin/echo' },
    });
  });

  it.each(['cost_usd', 'total_tokens', 'duration_ms'])('pages in the order of %s, null as 0', async (field) => {
    await app.query(
      `UPDATE runs SET cost_usd = CASE thread_id WHEN 'refund' THEN 0.1 + 0.2 END FROM organizations o
        WHERE o.id = organization_id AND o.slug = $1`,
      [app.org],
    );
    for (const tool of ['RUN_LIST', 'COLLECTION_THREADS_LIST']) {
      const orderBy = [{ field: [field], direction: 'desc' }];
      const all = await succeed<Page<{ id: string }>>(app, tool, { orderBy });
      const paged: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Page<{ id: string }> = await succeed(app, tool, { orderBy, limit: 1, cursor });
        paged.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect(paged).toEqual(all.items.map(({ id }) => id));
      expect(paged).toHaveLength(3);
    }
  });

  it('counts what a filter selects, over time and by the code of errors', async () => {
    await app.query(
      `UPDATE runs SET status = 'failed', error = '{"code":"run_timeout","message":"m"}' FROM organizations o
        WHERE o.id = organization_id AND o.slug = $1 AND thread_id = 'delivery'`,
      [app.org],
    );
    const runs = await succeed<RunStats>(app, 'RUN_STATS', { where: is('status', 'failed') });
    expect(runs).toMatchObject({ total: { runs: 1 }, failures: [{ code: 'run_timeout', runs: 1 }] });
    expect(runs.over_time.map((bucket) => bucket.runs)).toEqual([1]);
    const counted = await succeed<ThreadStats>(app, 'THREAD_STATS', { where: text('delivery or refund') });
    expect(counted).toMatchObject({ total: { threads: 2 }, failures: [{ code: 'run_timeout', threads: 1 }] });
    expect(counted.over_time.reduce((sum, { threads: count }) => sum + count, 0)).toBe(2);
    expect(await found(is('error_code', 'run_timeout'))).toEqual(['delivery']);
    expect(await succeed<ThreadStats>(other, 'THREAD_STATS', {})).toMatchObject({
      total: { threads: 1 },
      failures: [],
    });
  });

  it('lets nobody search texts who is not allowed to read them', async () => {
    const key = await keyWith(app, { self: ['COLLECTION_THREADS_LIST', 'THREAD_STATS', 'RUN_LIST', 'RUN_STATS'] });
    const question = { field: ['question'], operator: 'matches', value: 'refund' };
    for (const [tool, where] of [
      ['COLLECTION_THREADS_LIST', text('refund')],
      ['THREAD_STATS', { operator: 'not', conditions: [text('refund')] }],
      ['RUN_LIST', question],
      ['RUN_STATS', question],
    ] as const) {
      const { status, body } = await app.tool(tool, { where }, key);
      expect({ tool, status, code: (body as { code: string }).code }).toEqual({
        tool,
        status: 403,
        code: 'permission_denied',
      });
    }
    const { body } = await app.tool('COLLECTION_THREADS_LIST', { where: is('tool', 'find_order') }, key);
    expect(body).toMatchObject({ items: [{ id: 'looked-up', question: null }] });
  });

  it('shows costs, and who posted, only to callers who see runs or their use', async () => {
    await app.query(
      `UPDATE threads SET cost_usd = 0.5 FROM organizations o
        WHERE o.id = organization_id AND o.slug = $1 AND threads.id = 'looked-up'`,
      [app.org],
    );
    const where = is('tool', 'find_order');
    const self = ['COLLECTION_THREADS_LIST', 'THREAD_STATS'];
    const key = await keyWith(app, { self });
    const { body } = await app.tool('COLLECTION_THREADS_LIST', { where }, key);
    expect(body).toMatchObject({ items: [{ id: 'looked-up', tools: ['find_order'], cost_usd: null }] });
    const nobody = '00000000-0000-7000-8000-000000000000';
    for (const [tool, input] of [
      ['COLLECTION_THREADS_LIST', { orderBy: [{ field: ['cost_usd'], direction: 'desc' }] }],
      ['COLLECTION_THREADS_LIST', { where: { field: ['cost_usd'], operator: 'gte', value: 0.1 } }],
      ['COLLECTION_THREADS_LIST', { where: is('user_id', nobody) }],
      ['THREAD_STATS', { where: { operator: 'not', conditions: [is('api_key_id', nobody)] } }],
    ] as const) {
      const { status } = await app.tool(tool, input, key);
      expect({ tool, status }).toEqual({ tool, status: 403 });
    }
    for (const shows of ['RUN_LIST', 'USAGE_STATS']) {
      const shown = await keyWith(app, { self: [...self, shows] });
      const orderBy = [{ field: ['cost_usd'], direction: 'desc' }];
      const answer = await app.tool('COLLECTION_THREADS_LIST', { where, orderBy }, shown);
      expect(answer.body).toMatchObject({ items: [{ id: 'looked-up', cost_usd: 0.5 }] });
    }
  });

  it.each([
    { field: ['text'], operator: 'eq', value: 'refund' },
    { field: ['text'], operator: 'matches', value: 7 },
    { field: ['text'], operator: 'matches', value: 'x'.repeat(1001) },
    { field: ['title'], operator: 'matches', value: 'refund' },
    { field: ['text', 'x'], operator: 'matches', value: 'refund' },
    { field: ['user_id'], operator: 'eq', value: 'me' },
    { field: ['total_tokens'], operator: 'gte', value: 1.5 },
  ])('refuses %j', async (where) => {
    expect((await app.tool('COLLECTION_THREADS_LIST', { where })).status).toBe(400);
    expect((await app.tool('THREAD_STATS', { where })).status).toBe(400);
  });
});
