import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ThreadItem, ThreadPage } from '../../../src/runtime/threads/thread.dto.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(newTenant);
let agentId: string;

beforeAll(async () => {
  agentId = await createAgent(app);
});

const create = (data: object) =>
  app.tool('COLLECTION_THREADS_CREATE', { data: { title: 'Thread', virtual_mcp_id: agentId, ...data } });
const createWith = async (metadata: object): Promise<ThreadItem> => (await create({ metadata }).expect(200)).body.item;
const update = (id: string, data: object) => app.tool('COLLECTION_THREADS_UPDATE', { id, data });
const get = async (id: string): Promise<ThreadItem> =>
  (await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_GET', { id })).item;
const list = (input: object): Promise<ThreadPage> => succeed(app, 'COLLECTION_THREADS_LIST', input);

const pairs = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));

describe('the metadata of a thread', () => {
  it('is set at creation, replaced whole, and kept by other changes', async () => {
    const { id, metadata } = await createWith({ customer: 'c-1', 'ticket.no_1-a': '' });
    expect(metadata).toEqual({ customer: 'c-1', 'ticket.no_1-a': '' });
    expect((await update(id, { title: 'Other' }).expect(200)).body.item).toMatchObject({ title: 'Other', metadata });
    expect((await update(id, { metadata: { stage: 'é✓' } }).expect(200)).body.item).toMatchObject({
      title: 'Other',
      metadata: { stage: 'é✓' },
    });
    expect((await get(id)).metadata).toEqual({ stage: 'é✓' });
    await update(id, { metadata: {} }).expect(200);
    expect((await get(id)).metadata).toEqual({});
  });

  it('of an existing thread is not changed by creating it again', async () => {
    const { id } = await createWith({ customer: 'c-2' });
    expect((await create({ id, metadata: { customer: 'c-3' } }).expect(200)).body.item.metadata).toEqual({
      customer: 'c-2',
    });
  });

  it('can have 16 pairs of 64 and 512 characters', async () => {
    const metadata = { ...pairs(15), ['k'.repeat(64)]: 'v'.repeat(512) };
    expect((await createWith(metadata)).metadata).toEqual(metadata);
  });

  it.each<[string, unknown]>([
    ['17 pairs', pairs(17)],
    ['an empty key', { '': 'a' }],
    ['a key of 65 characters', { ['k'.repeat(65)]: 'a' }],
    ['a key with a space', { 'a b': 'a' }],
    ['a key with a quote', { "a'b": 'a' }],
    ['a value of 513 characters', { a: 'v'.repeat(513) }],
    ['a number', { a: 1 }],
    ['null for a value', { a: null }],
    ['an object for a value', { a: {} }],
    ['NUL in a value', { a: 'a\u0000b' }],
    ['a list', ['a']],
    ['null', null],
    ['a string', 'a'],
    ['an inherited name', { constructor: 'a' }],
  ])('with %s is refused', async (_, metadata) => {
    const { id } = await createWith({});
    for (const answer of [await create({ metadata }), await update(id, { metadata })]) {
      const [fault] = expectProblem(answer, 400, 'invalid_request').errors ?? [];
      expect(fault?.path).toMatch(/^data\.metadata/);
    }
  });

  it('is a field to filter by', async () => {
    const [a, b] = [await createWith({ 'shop.id': 'alpha', tag: 'x' }), await createWith({ 'shop.id': 'ALPHABET' })];
    await createWith({ other: 'alpha' });
    const field = ['metadata', 'shop.id'];
    const ids = async (where: object) => (await list({ where })).items.map(({ id }) => id).toSorted();
    const both = [a.id, b.id].toSorted();
    expect(await ids({ field, operator: 'eq', value: 'alpha' })).toEqual([a.id]);
    expect(await ids({ field, operator: 'in', value: ['ALPHABET', 'none'] })).toEqual([b.id]);
    expect(await ids({ field, operator: 'contains', value: 'lpha' })).toEqual(both);
    expect(await ids({ field, operator: 'like', value: 'alphab%' })).toEqual([b.id]);
    expect(await ids({ field: ['metadata', 'none'], operator: 'eq', value: 'alpha' })).toEqual([]);
    const not = { operator: 'not', conditions: [{ field, operator: 'eq', value: 'alpha' }] };
    const all = await ids(not);
    expect(all).toContain(b.id);
    expect(all).not.toContain(a.id);
    const two = [
      { field, operator: 'contains', value: 'alpha' },
      { field: ['metadata', 'tag'], operator: 'eq', value: 'x' },
    ];
    expect(await ids({ operator: 'and', conditions: two })).toEqual([a.id]);
  });

  it('pages a filtered list', async () => {
    const made = await Promise.all([1, 2, 3].map(() => createWith({ batch: 'pages' })));
    const where = { field: ['metadata', 'batch'], operator: 'eq', value: 'pages' };
    const first = await list({ where, limit: 2 });
    const second = await list({ where, limit: 2, cursor: first.nextCursor });
    const seen = [...first.items, ...second.items].map(({ id }) => id);
    expect({ total: first.totalCount, seen: seen.toSorted() }).toEqual({
      total: 3,
      seen: made.map(({ id }) => id).toSorted(),
    });
  });

  it.each([
    [{ field: ['metadata'], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['metadata', 'a', 'b'], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['metadata', "a' OR true --"], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['metadata', ''], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['metadata', 1], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['title', 'a'], operator: 'eq', value: 'a' }, 'where.field'],
    [{ field: ['metadata', 'a'], operator: 'eq', value: 1 }, 'where.value'],
    [{ field: ['metadata', 'a'], operator: 'eq', value: null }, 'where.value'],
  ])('is not filtered by %j', async (where, path) => {
    const problem = expectProblem(await app.tool('COLLECTION_THREADS_LIST', { where }), 400, 'invalid_request');
    expect(problem.errors).toMatchObject([{ path }]);
  });

  it('cannot be ordered by', async () => {
    const orderBy = [{ field: ['metadata'], direction: 'asc' }];
    expectProblem(await app.tool('COLLECTION_THREADS_LIST', { orderBy }), 400, 'invalid_request');
  });

  it('stays within its organization', async () => {
    await createWith({ secret: 'mine' });
    const second = await startSecondOrganization(app, 'second');
    const where = { field: ['metadata', 'secret'], operator: 'eq', value: 'mine' };
    expect((await second.tool('COLLECTION_THREADS_LIST', { where }).expect(200)).body).toMatchObject({ totalCount: 0 });
  });

  it('is on each run as it was when the run was posted', async () => {
    const { id } = await createWith({ stage: 'first' });
    const thread = new ThreadClient(app, agentId, id);
    const first = await thread.postMessage('hello');
    await update(id, { metadata: { stage: 'second' } }).expect(200);
    const second = await thread.postMessage('hello');
    expect(await thread.waitFor(first, 'completed')).toMatchObject({ metadata: { stage: 'first' } });
    expect(await thread.waitFor(second, 'completed')).toMatchObject({ metadata: { stage: 'second' } });
  });
});

describe('the last run of a thread', () => {
  it('is the one that was accepted last, whatever became of it', async () => {
    const thread = await ThreadClient.create(app, agentId);
    expect((await get(thread.id)).last_run).toBeNull();
    const first = await thread.postMessage('/wait 600000');
    const second = await thread.postMessage('/fail out of coal');
    expect((await get(thread.id)).last_run).toEqual({ id: second, status: 'queued', model: null, error: null });
    await thread.cancel(first).expect(202);
    await thread.waitFor(second, 'failed');
    const { model, error } = await thread.run(second);
    const last_run = { id: second, status: 'failed', model, error };
    expect((await get(thread.id)).last_run).toEqual(last_run);
    expect((await update(thread.id, { title: 'New' })).body.item.last_run).toEqual(last_run);
  });

  it('is in lists, for every thread its own', async () => {
    const title = 'with a last run';
    const threads = await Promise.all(
      ['one', 'two'].map(async (text) => {
        const { id } = (await create({ title }).expect(200)).body.item as ThreadItem;
        return { id, taskId: await new ThreadClient(app, agentId, id).postMessage(text) };
      }),
    );
    const none = (await create({ title }).expect(200)).body.item as ThreadItem;
    const { items } = await list({ where: { field: ['title'], operator: 'eq', value: title } });
    const found = Object.fromEntries(items.map(({ id, last_run }) => [id, last_run?.id ?? null]));
    expect(found).toEqual({ ...Object.fromEntries(threads.map(({ id, taskId }) => [id, taskId])), [none.id]: null });
  });
});
