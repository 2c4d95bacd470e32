import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { DataSource, EntitySchema, type SelectQueryBuilder } from 'typeorm';
import type { ListInput } from '../../../src/core/paging/list-input.js';
import type { ListSpec } from '../../../src/core/paging/list-spec.js';
import { AnswerBudget } from '../../../src/core/answers/answer-budget.js';
import { MAX_PAGE_BYTES, paginate } from '../../../src/core/paging/paginate.js';
import { createTestDatabase } from '../../support/database.js';

interface Note {
  id: string;
  folder: string;
  title: string;
  size: number;
  score: number;
  done: boolean;
  status: string;
  remark: string | null;
  createdAt: Date;
}

const NoteSchema = new EntitySchema<Note>({
  name: 'note',
  columns: {
    id: { type: 'uuid', primary: true },
    folder: { type: 'varchar' },
    title: { type: 'varchar' },
    size: { type: 'int' },
    score: { type: 'double precision' },
    done: { type: 'boolean' },
    status: { type: 'enum', enum: ['open', 'shut'], enumName: 'note_status' },
    remark: { type: 'text', nullable: true },
    createdAt: { name: 'created_at', type: 'timestamptz', precision: 3 },
  },
});

const CREATE_TABLE = `
  CREATE TYPE note_status AS ENUM ('open', 'shut');
  CREATE TABLE note (
    id uuid PRIMARY KEY, folder varchar NOT NULL, title varchar NOT NULL, size int NOT NULL,
    score double precision NOT NULL, done boolean NOT NULL, status note_status NOT NULL, remark text,
    created_at timestamptz(3) NOT NULL
  )`;

const spec: ListSpec = {
  name: 'notes',
  fields: {
    id: { column: 'n.id', type: 'uuid' },
    title: { column: 'n.title', type: 'string' },
    size: { column: 'n.size', type: 'number' },
    score: { column: 'n.score', type: 'number' },
    done: { column: 'n.done', type: 'boolean' },
    status: { column: 'n.status', type: 'enum', values: ['open', 'shut'] },
    remark: { column: 'n.remark', type: 'string', nullable: true },
    created_at: { column: 'n.createdAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

/** The total size of these notes, in quarters of a page. */
const bytesOf = (page: readonly Note[]): number => page.reduce((sum, { size }) => sum + size, 0);

/** 24 notes in which every field but the id has ties. */
const notes: Note[] = Array.from({ length: 24 }, (_, n) => ({
  id: randomUUID(),
  folder: 'mine',
  title: ['Alpha', 'beta', '50%_off', String.raw`back\slash`][n % 4] ?? '',
  size: (n * 7) % 5,
  score: (n % 3) / 10,
  done: n % 2 === 0,
  status: n % 6 === 0 ? 'open' : 'shut',
  remark: n % 3 === 0 ? null : `remark ${n % 3}`,
  createdAt: new Date(Date.UTC(2026, 0, 1 + (n % 4), 0, 0, 0, n % 2)),
}));

const unbounded = () => new AnswerBudget(Number.MAX_SAFE_INTEGER).openAnswer(undefined);

describe('paginate on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let dataSource: DataSource;

  const mine = () =>
    dataSource.getRepository(NoteSchema).createQueryBuilder('n').where('n.folder = :folder', { folder: 'mine' });
  /** A snapshot is read in another way, and finds the same. */
  async function list(input: ListInput) {
    const page = await paginate(mine(), spec, input, unbounded());
    expect(await paginate(mine(), spec, input, unbounded(), { isSnapshot: true })).toEqual(page);
    return page;
  }
  const idsWhere = async (where: Record<string, unknown>) => (await list({ where })).items.map(({ id }) => id).sort();
  const idsOf = (keep: (note: Note) => boolean) =>
    notes
      .filter(keep)
      .map(({ id }) => id)
      .sort();

  async function walk(input: ListInput): Promise<Note[]> {
    const items: Note[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({ ...input, cursor });
      expect(page.hasMore).toBe(page.nextCursor !== null);
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return items;
  }

  beforeAll(async () => {
    database = await createTestDatabase();
    // A session time zone other than UTC: dates must not depend on it.
    const options = '-c TimeZone=America/New_York';
    dataSource = new DataSource({ type: 'postgres', url: database.url, entities: [NoteSchema], extra: { options } });
    await dataSource.initialize();
    await dataSource.query(CREATE_TABLE);
    const foreign = notes.map((note) => ({ ...note, id: randomUUID(), folder: 'theirs' }));
    await dataSource.getRepository(NoteSchema).insert([...notes, ...foreign]);
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await database?.drop();
  });

  it('returns the first page in the default order', async () => {
    const page = await list({});
    expect(page).toMatchObject({ totalCount: 24, hasMore: false, nextCursor: null });
    const times = page.items.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  it('counts on the first page only', async () => {
    const first = await list({ limit: 12 });
    const added = { ...notes[0], id: randomUUID() };
    await dataSource.getRepository(NoteSchema).insert(added);
    const second = await list({ limit: 12, cursor: first.nextCursor });
    const counted = await list({ limit: 12 });
    await dataSource.getRepository(NoteSchema).delete({ id: added.id });
    expect([first.totalCount, second.totalCount, counted.totalCount]).toEqual([24, 24, 25]);
  });

  it.each([
    [10, 11],
    [24, 24],
    [100, 24],
  ])('stops counting after %i rows', async (limit, totalCount) => {
    const where = { field: ['size'], operator: 'gte', value: 0 };
    const first = await list({ where, limit: 13, count_limit: limit });
    expect(first).toMatchObject({ items: { length: 13 }, totalCount, hasMore: true });
    const second = await list({ where, limit: 13, cursor: first.nextCursor, count_limit: limit });
    expect(second).toMatchObject({ items: { length: 11 }, totalCount, hasMore: false });
  });

  it('counts all rows at every position and ends at a full last page', async () => {
    const first = await list({ limit: 12 });
    expect(first).toMatchObject({ totalCount: 24, hasMore: true });
    const second = await list({ limit: 12, cursor: first.nextCursor });
    expect(second).toMatchObject({ totalCount: 24, hasMore: false, nextCursor: null });
    expect(second.items).toHaveLength(12);
  });

  it('returns every row once across pages, in the order of a single page, for any order', async () => {
    const term = fc.record({
      field: fc.constantFrom('title', 'size', 'score', 'done', 'status', 'created_at', 'id').map((name) => [name]),
      direction: fc.constantFrom('asc' as const, 'desc' as const),
    });
    const orders = fc.uniqueArray(term, { maxLength: 4, selector: ({ field }) => field[0] });
    await fc.assert(
      fc.asyncProperty(orders, fc.integer({ min: 5, max: 11 }), async (orderBy, limit) => {
        const all = await list({ orderBy });
        expect(await walk({ orderBy, limit })).toEqual(all.items);
        expect(all.items).toHaveLength(24);
      }),
      { numRuns: 25 },
    );
  });

  it('keeps its position when rows are inserted and deleted', async () => {
    const order: ListInput = { orderBy: [{ field: ['size'], direction: 'asc' }], limit: 10 };
    const first = await list(order);
    const early: Note = { ...(notes[0] as Note), id: randomUUID(), size: -1 };
    await dataSource.getRepository(NoteSchema).insert(early);
    const second = await list({ ...order, cursor: first.nextCursor });
    await dataSource.getRepository(NoteSchema).delete(early.id);
    expect(second.items.filter(({ id }) => first.items.some((item) => item.id === id))).toEqual([]);
  });

  it('starts at an offset and continues by cursor', async () => {
    const all = await list({});
    const page = await list({ offset: 5, limit: 3 });
    expect(page.items).toEqual(all.items.slice(5, 8));
    const next = await list({ cursor: page.nextCursor, limit: 3 });
    expect(next.items).toEqual(all.items.slice(8, 11));
    expect(await list({ offset: 1000 })).toEqual({ items: [], totalCount: 24, hasMore: false, nextCursor: null });
  });

  it.each<[string, string, (page: Note[]) => boolean]>([
    ['ends before the row that would exceed the limit', `n.size * ${MAX_PAGE_BYTES / 4}`, (page) => bytesOf(page) <= 4],
    ['contains only one row if that exceeds the limit', String(MAX_PAGE_BYTES + 1), (page) => page.length === 1],
    ['has the requested length if its rows are short', '1', (page) => page.length === 10 || page.length === 4],
  ])('a page %s, and the next page continues', async (_what, rowBytes, isBounded) => {
    const pages: Note[][] = [];
    let cursor: string | null = null;
    do {
      const input: ListInput = { limit: 10, cursor, orderBy: [{ field: ['title'], direction: 'desc' }] };
      const page: Awaited<ReturnType<typeof list>> = await paginate(mine(), { ...spec, rowBytes }, input, unbounded());
      expect(page.totalCount).toBe(24);
      expect(page.hasMore).toBe(page.nextCursor !== null);
      pages.push(page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(pages.filter((page) => !isBounded(page))).toEqual([]);
    expect(pages.flat()).toEqual(await walk({ orderBy: [{ field: ['title'], direction: 'desc' }] }));
  });

  it('reserves memory for a page and rejects a page without available memory', async () => {
    const budget = new AnswerBudget(42 * MAX_PAGE_BYTES);
    const read = () => paginate(mine(), { ...spec, rowBytes: '1000000' }, {}, budget.openAnswer(undefined));
    await expect(read()).resolves.toMatchObject({ items: { length: 4 }, hasMore: true });
    const held = budget.heldBytes;
    expect(held).toBeGreaterThan(MAX_PAGE_BYTES);
    await read();
    await expect(read()).rejects.toMatchObject({ code: 'answer_memory_exhausted' });
    expect(budget.heldBytes).toBe(2 * held);
  });

  it('rejects a cursor with an offset and a cursor of another query', async () => {
    const { nextCursor: cursor } = await list({ limit: 1 });
    await expect(list({ cursor, offset: 0 })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'offset' }],
    });
    const where = { field: ['done'], operator: 'eq', value: true };
    await expect(list({ cursor, where })).rejects.toMatchObject({ code: 'invalid_cursor' });
    await expect(paginate(mine(), { ...spec, name: 'others' }, { cursor }, unbounded())).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  });

  it.each<[string, string, unknown, (note: Note) => boolean]>([
    ['title', 'eq', 'Alpha', ({ title }) => title === 'Alpha'],
    ['title', 'in', ['Alpha', '50%_off', '"{x,y}"'], ({ title }) => ['Alpha', '50%_off'].includes(title)],
    ['title', 'like', 'ALP%', ({ title }) => title === 'Alpha'],
    ['title', 'like', String.raw`%\%\_%`, ({ title }) => title === '50%_off'],
    ['title', 'contains', '%_O', ({ title }) => title === '50%_off'],
    ['title', 'contains', '\\', ({ title }) => title.includes('\\')],
    ['title', 'contains', 'BET', ({ title }) => title === 'beta'],
    ['size', 'gte', 2.5, ({ size }) => size >= 3],
    ['size', 'lt', 1e20, () => true],
    ['size', 'in', [1, 2.5, 1e300], ({ size }) => size === 1],
    ['score', 'eq', 0.1, ({ score }) => score === 0.1],
    ['score', 'gt', 5e-324, ({ score }) => score > 0],
    ['done', 'eq', false, ({ done }) => !done],
    ['done', 'in', [true, false], () => true],
    ['status', 'eq', 'open', ({ status }) => status === 'open'],
    ['status', 'in', ['open', 'shut'], () => true],
    ['id', 'eq', notes[3]?.id.toUpperCase(), ({ id }) => id === notes[3]?.id],
    ['id', 'in', [notes[3]?.id, randomUUID()], ({ id }) => id === notes[3]?.id],
    ['remark', 'contains', '1', ({ remark }) => remark === 'remark 1'],
    [
      'created_at',
      'eq',
      '2026-01-02T00:00:00.001Z',
      ({ createdAt }) => createdAt.getTime() === Date.UTC(2026, 0, 2, 0, 0, 0, 1),
    ],
    ['created_at', 'gte', '2026-01-03', ({ createdAt }) => createdAt.getTime() >= Date.UTC(2026, 0, 3)],
    ['created_at', 'lt', '2026-01-03T02:00+02:00', ({ createdAt }) => createdAt.getTime() < Date.UTC(2026, 0, 3)],
    ['created_at', 'gte', '2026-01-01T00:00:00.000500Z', ({ createdAt }) => createdAt.getTime() > Date.UTC(2026, 0, 1)],
    ['created_at', 'in', ['0001-01-01T00:00+14:00', '9999-12-31T23:59:59.999999999-14:59'], () => false],
  ])('filters by %s %s %j', async (field, operator, value, keep) => {
    expect(await idsWhere({ field: [field], operator, value })).toEqual(idsOf(keep));
  });

  it('applies not to rows that do not match, including nulls', async () => {
    const hasRemark = { field: ['remark'], operator: 'eq', value: 'remark 1' };
    const done = { field: ['done'], operator: 'eq', value: true };
    const not = (...conditions: object[]) => ({ operator: 'not', conditions });
    expect(await idsWhere(not(hasRemark))).toEqual(idsOf(({ remark }) => remark !== 'remark 1'));
    expect(await idsWhere(not(hasRemark, done))).toEqual(idsOf((note) => !(note.remark === 'remark 1' && note.done)));
    expect(await idsWhere(not(not(hasRemark)))).toEqual(idsOf(({ remark }) => remark === 'remark 1'));
  });

  it('joins patterns for one column', async () => {
    const has = (operator: string, value: string) => ({ field: ['title'], operator, value });
    const ofRemark = { field: ['remark'], operator: 'contains', value: 'K 1' };
    const some = [has('like', 'ALP%'), ofRemark, has('contains', '%_O'), has('like', String.raw`%\\S_ash`)];
    expect(await idsWhere({ operator: 'or', conditions: some })).toEqual(
      idsOf(({ title, remark }) => title !== 'beta' || remark === 'remark 1'),
    );
    const all = [has('contains', 'A'), has('like', '%A'), { field: ['remark'], operator: 'like', value: '%' }];
    expect(await idsWhere({ operator: 'and', conditions: all })).toEqual(
      idsOf(({ title, remark }) => ['Alpha', 'beta'].includes(title) && remark !== null),
    );
    expect(await idsWhere({ operator: 'not', conditions: all })).toEqual(
      idsOf(({ title, remark }) => !['Alpha', 'beta'].includes(title) || remark === null),
    );
  });

  it('has on its page what was added since it counted and measured, if there is room', async () => {
    const counted = notes.slice(0, 3).map((note) => ({ ...note, id: randomUUID(), folder: 'growing' }));
    await dataSource.getRepository(NoteSchema).insert(counted);
    // The statements that count and measure add a row each, which the next one sees.
    await dataSource.query(`
      CREATE FUNCTION add_note(expected integer) RETURNS boolean LANGUAGE sql VOLATILE AS $$
        INSERT INTO note SELECT gen_random_uuid(), 'growing', 'added', 1, 1, true, 'open', NULL, '2025-01-01'
          FROM note WHERE folder = 'growing' HAVING count(*) = expected;
        SELECT true $$`);
    const growing = (): SelectQueryBuilder<Note> =>
      dataSource.getRepository(NoteSchema).createQueryBuilder('n').where(`n.folder = 'growing' AND add_note(3)`);
    const rowBytes = 'CASE WHEN add_note(4) THEN 1 END';
    const page = await paginate(growing(), { ...spec, rowBytes }, { limit: 10 }, unbounded());
    await dataSource.query(`DELETE FROM note WHERE folder = 'growing' AND title = 'added'`);
    const shortRows = await paginate(growing(), spec, { limit: 10 }, unbounded());
    await dataSource.query(`DELETE FROM note WHERE folder = 'growing'`);
    expect(page).toMatchObject({ items: { length: 5 }, totalCount: 5, hasMore: false, nextCursor: null });
    expect(shortRows).toMatchObject({ items: { length: 4 }, totalCount: 4, hasMore: false, nextCursor: null });
  });

  it('reads the rows that it has counted, of a snapshot', async () => {
    const input = { where: { field: ['size'], operator: 'gte', value: 1 }, limit: 2 };
    for (const further of [
      {},
      { offset: 3 },
      { count_limit: 4 },
      { orderBy: [{ field: ['title'], direction: 'desc' as const }] },
    ]) {
      for (const rowBytes of [undefined, '1']) {
        const ofSpec = { ...spec, ...(rowBytes && { rowBytes }) };
        const read = (isSnapshot: boolean) =>
          paginate(mine(), ofSpec, { ...input, ...further }, unbounded(), { isSnapshot });
        expect(await read(true)).toEqual(await read(false));
      }
    }
  });

  it("neither widens nor mutates the caller's query", async () => {
    const query = mine();
    const before = query.getQueryAndParameters();
    const anything = { field: ['size'], operator: 'gte', value: 0 };
    const page = await paginate(
      query,
      spec,
      { where: { operator: 'or', conditions: [anything, anything] } },
      unbounded(),
    );
    expect(page.totalCount).toBe(24);
    expect(query.getQueryAndParameters()).toEqual(before);
  });

  it('accepts any text in a condition', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => value.replaceAll('\0', ''));
    const pattern = text.map((value) => value.replaceAll('\\', String.raw`\\`));
    const texts = fc.array(text, { minLength: 1, maxLength: 4 });
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    const comparison = fc.constantFrom('eq', 'gt', 'lte');
    const textField = fc.constantFrom(['title'], ['remark']);
    const condition = fc.oneof(
      fc.record({ field: textField, operator: comparison, value: text }),
      fc.record({ field: textField, operator: fc.constant('contains'), value: text }),
      fc.record({ field: textField, operator: fc.constant('like'), value: pattern }),
      fc.record({ field: textField, operator: fc.constant('in'), value: texts }),
      fc.record({ field: fc.constantFrom(['size'], ['score']), operator: comparison, value: number }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(condition, { minLength: 1, maxLength: 3 }), async (conditions) => {
        const { totalCount } = await list({ where: { operator: 'or', conditions }, limit: 1 });
        expect(totalCount).toBeLessThanOrEqual(24);
      }),
      { numRuns: 100 },
    );
  });
});
