import { beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { useStarted } from '../../support/use-started.js';

interface Thread {
  id: string;
  title: string;
}

interface Page {
  items: Thread[];
  totalCount: number;
  hasMore: boolean;
  nextCursor: string | null;
}

const TITLES = ['alpha', 'Beta', 'gamma', '100%', '100 percent'];

const service = useStarted(newTenant);

beforeAll(async () => {
  const agent = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } });
  for (const [index, title] of TITLES.entries()) {
    const data = { id: `thread-${index}`, title, virtual_mcp_id: agent.body.item.id };
    await service.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
  }
});

async function list(input: object): Promise<Page> {
  const answer = await service.tool('COLLECTION_THREADS_LIST', input);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as Page;
}

async function titlesWhere(where: object): Promise<string[]> {
  return (await list({ where, orderBy: [{ field: ['id'], direction: 'asc' }] })).items.map(({ title }) => title);
}

/** A single condition nested in this many groups. */
function nested(depth: number): object {
  const condition = { field: ['title'], operator: 'eq', value: 'alpha' };
  return Array.from({ length: depth }).reduce<object>((inner) => ({ operator: 'and', conditions: [inner] }), condition);
}

function conditions(count: number): object {
  const condition = { field: ['title'], operator: 'eq', value: 'alpha' };
  return { operator: 'or', conditions: Array.from({ length: count }, () => condition) };
}

describe('a list over HTTP', () => {
  it('is complete and newest first by default', async () => {
    const page = await list({});
    expect(page).toMatchObject({ totalCount: 5, hasMore: false, nextCursor: null });
    expect(page.items.map(({ title }) => title)).toEqual(TITLES.toReversed());
  });

  it.each<[string, object, string[]]>([
    ['eq', { field: ['title'], operator: 'eq', value: 'Beta' }, ['Beta']],
    ['in', { field: ['title'], operator: 'in', value: ['alpha', 'gamma'] }, ['alpha', 'gamma']],
    ['contains, where % is a character', { field: ['title'], operator: 'contains', value: '100%' }, ['100%']],
    ['like, where % is any text', { field: ['title'], operator: 'like', value: '100%' }, ['100%', '100 percent']],
    ['gte', { field: ['id'], operator: 'gte', value: 'thread-3' }, ['100%', '100 percent']],
    ['a date', { field: ['created_at'], operator: 'lt', value: '2020-01-01' }, []],
    ['not', { operator: 'not', conditions: [{ field: ['id'], operator: 'gt', value: 'thread-0' }] }, ['alpha']],
    [
      'or',
      {
        operator: 'or',
        conditions: [
          { field: ['title'], operator: 'eq', value: 'alpha' },
          { field: ['id'], operator: 'eq', value: 'thread-2' },
        ],
      },
      ['alpha', 'gamma'],
    ],
    ['a quote, which is only text', { field: ['title'], operator: 'eq', value: "' OR 1=1 --" }, []],
  ])('filters by %s', async (_what, where, titles) => {
    expect(await titlesWhere(where)).toEqual(titles);
  });

  it('returns each item once across cursor pages, in the requested order', async () => {
    const orderBy = [{ field: ['id'], direction: 'desc' }];
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page = await list({ orderBy, limit: 2, cursor });
      expect(page.totalCount).toBe(5);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(['thread-4', 'thread-3', 'thread-2', 'thread-1', 'thread-0']);
  });

  it('can start at an offset', async () => {
    const orderBy = [{ field: ['id'], direction: 'asc' }];
    const page = await list({ orderBy, offset: 3, limit: 1 });
    expect(page.items.map(({ id }) => id)).toEqual(['thread-3']);
    expect(page.hasMore).toBe(true);
    expect(await list({ orderBy, offset: 99 })).toMatchObject({ items: [], totalCount: 5, hasMore: false });
  });

  it('accepts groups nested 5 deep and 50 conditions', async () => {
    expect(await titlesWhere(nested(5))).toEqual(['alpha']);
    expect(await titlesWhere(conditions(50))).toEqual(['alpha']);
  });

  it.each<[string, object, string]>([
    [
      'a column that is not published',
      { where: { field: ['organization_id'], operator: 'eq', value: 'x' } },
      'where.field',
    ],
    [
      'an unpublished column below a group',
      { where: { operator: 'and', conditions: [{ field: ['organization_id'], operator: 'eq', value: 'x' }] } },
      'where.conditions[0].field',
    ],
    ['an inherited name as field', { where: { field: ['constructor'], operator: 'eq', value: 'x' } }, 'where.field'],
    ['a path as field', { where: { field: ['title', 'x'], operator: 'eq', value: 'x' } }, 'where.field'],
    ['an unknown operator', { where: { field: ['title'], operator: 'regex', value: 'x' } }, 'where.operator'],
    ['a value of another type', { where: { field: ['title'], operator: 'eq', value: 1 } }, 'where.value'],
    ['an invalid status', { where: { field: ['status'], operator: 'eq', value: 'lost' } }, 'where.value'],
    ['groups 6 deep', { where: nested(6) }, `where${'.conditions[0]'.repeat(5)}`],
    ['51 conditions', { where: conditions(51) }, 'where.conditions[50]'],
    ['an unpublished orderBy', { orderBy: [{ field: ['created_by'], direction: 'asc' }] }, 'orderBy[0].field'],
    ['an invalid direction', { orderBy: [{ field: ['id'], direction: 'up' }] }, 'orderBy[0].direction'],
    ['an orderBy that is a list of lists', { orderBy: [[]] }, 'orderBy[0]'],
    ['an orderBy of nulls', { orderBy: [null] }, 'orderBy[0]'],
    ['a limit of 0', { limit: 0 }, 'limit'],
    ['a limit of 1001', { limit: 1001 }, 'limit'],
    ['a limit that is text', { limit: '10' }, 'limit'],
    ['a negative offset', { offset: -1 }, 'offset'],
  ])('rejects %s and names the path', async (_what, input, path) => {
    const problem = expectProblem(await service.tool('COLLECTION_THREADS_LIST', input), 400, 'invalid_request');
    expect(problem.errors?.map((fault) => fault.path)).toContain(path);
  });

  it('rejects a foreign cursor and a cursor for another order or filter', async () => {
    const { nextCursor } = await list({ limit: 1 });
    for (const input of [
      { cursor: 'rubbish' },
      { cursor: `${nextCursor}x` },
      { cursor: nextCursor, orderBy: [{ field: ['id'], direction: 'asc' }] },
      { cursor: nextCursor, where: { field: ['title'], operator: 'eq', value: 'alpha' } },
    ]) {
      expectProblem(await service.tool('COLLECTION_THREADS_LIST', input), 400, 'invalid_cursor');
    }
    const elsewhere = await service.tool('COLLECTION_CONNECTIONS_LIST', { cursor: nextCursor });
    expectProblem(elsewhere, 400, 'invalid_cursor');
  });
});
