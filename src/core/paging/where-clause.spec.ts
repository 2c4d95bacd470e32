import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DomainError, type FieldError } from '../domain-error.js';
import type { ListSpec } from './list-spec.js';
import { compileWhere } from './where-clause.js';

const spec: ListSpec = {
  name: 'notes',
  fields: {
    id: { column: 'n.id', type: 'uuid' },
    title: { column: 'n.title', type: 'string' },
    size: { column: 'n.size', type: 'number' },
    position: { column: 'n.position', type: 'integer' },
    done: { column: 'n.done', type: 'boolean' },
    created_at: { column: 'n.createdAt', type: 'date' },
    status: { column: 'n.status', type: 'enum', values: ['open', 'shut'] },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

const compile = (where: unknown) => compileWhere(where, spec);
const title = (value: unknown, operator = 'eq') => ({ field: ['title'], operator, value });
const nested = (depth: number): unknown =>
  depth === 0 ? title('x') : { operator: 'and', conditions: [nested(depth - 1)] };

function faultOf(where: unknown): FieldError | undefined {
  try {
    compile(where);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'invalid_request') return error.errors?.[0];
    throw error;
  }
  throw new Error('The where was accepted.');
}

describe('compileWhere', () => {
  it.each([
    [title('a'), 'n.title = :list_where_0', { list_where_0: 'a' }],
    [title('a', 'gte'), 'n.title >= :list_where_0', { list_where_0: 'a' }],
    [title('a%', 'like'), 'n.title ILIKE :list_where_0', { list_where_0: 'a%' }],
    [title(String.raw`5%_\ `, 'contains'), 'n.title ILIKE :list_where_0', { list_where_0: String.raw`%5\%\_\\ %` }],
    [title(['a', 'b'], 'in'), 'n.title = ANY(:list_where_0)', { list_where_0: ['a', 'b'] }],
    [{ field: ['size'], operator: 'lt', value: 1.5 }, 'n.size < CAST(:list_where_0 AS numeric)', { list_where_0: 1.5 }],
    [
      { field: ['size'], operator: 'in', value: [1] },
      'n.size = ANY(CAST(:list_where_0 AS numeric[]))',
      { list_where_0: [1] },
    ],
    [
      { field: ['position'], operator: 'gt', value: 7 },
      'n.position > CAST(:list_where_0 AS bigint)',
      { list_where_0: 7 },
    ],
    [{ field: ['done'], operator: 'eq', value: false }, 'n.done = :list_where_0', { list_where_0: false }],
    [{ field: ['status'], operator: 'eq', value: 'open' }, 'n.status = :list_where_0', { list_where_0: 'open' }],
    [
      { field: ['created_at'], operator: 'lte', value: '2026-02-28' },
      'n.createdAt <= :list_where_0',
      { list_where_0: '2026-02-28T00:00:00Z' },
    ],
  ])('compiles %j', (where, sql, parameters) => {
    expect(compile(where)).toEqual({ sql, parameters });
  });

  it('joins groups, and lets not hold where a comparison is unknown', () => {
    const where = {
      operator: 'or',
      conditions: [title('a'), { operator: 'not', conditions: [title('b'), title('c')] }],
    };
    expect(compile(where)).toEqual({
      sql: '(n.title = :list_where_0 OR ((n.title = :list_where_1 AND n.title = :list_where_2) IS NOT TRUE))',
      parameters: { list_where_0: 'a', list_where_1: 'b', list_where_2: 'c' },
    });
  });

  it('turns a text into lower case once for all patterns of a group', () => {
    const patterns = [title('A%', 'like'), title('b'), title('C', 'contains')];
    const any = { operator: 'or', conditions: patterns };
    const parameters = { list_where_0: 'A%', list_where_1: 'b', list_where_2: '%C%' };
    expect(compile(any)).toEqual({
      sql: '(n.title = :list_where_1 OR lower(n.title) LIKE ANY (ARRAY[lower(:list_where_0), lower(:list_where_2)]))',
      parameters,
    });
    expect(compile({ operator: 'not', conditions: patterns }).sql).toContain('lower(n.title) LIKE ALL (ARRAY[');
    const nested = { operator: 'or', conditions: [title('a', 'like'), { operator: 'and', conditions: patterns }] };
    expect(compile(nested).sql).toMatch(
      /^\(\(n\.title = .* LIKE ALL \(ARRAY\[.*\)\) OR n\.title ILIKE :list_where_0\)$/,
    );
  });

  it.each([
    [[], 'where', 'invalid_condition'],
    [{}, 'where.operator', 'unknown_operator'],
    [{ ...title('a'), operator: 'constructor' }, 'where.operator', 'unknown_operator'],
    [{ ...title('a'), operator: 'AND' }, 'where.operator', 'unknown_operator'],
    [{ ...title('a'), extra: 1 }, 'where', 'unknown_property'],
    [{ operator: 'and', conditions: [title('a')], value: 1 }, 'where', 'unknown_property'],
    [{ operator: 'and', conditions: [] }, 'where.conditions', 'invalid_conditions'],
    [{ operator: 'not', conditions: title('a') }, 'where.conditions', 'invalid_conditions'],
    [
      { operator: 'and', conditions: [title('a'), { ...title('a'), field: ['secret'] }] },
      'where.conditions[1].field',
      'unknown_field',
    ],
    [{ ...title('a'), field: ['__proto__'] }, 'where.field', 'unknown_field'],
    [{ ...title('a'), field: ['constructor'] }, 'where.field', 'unknown_field'],
    [{ ...title('a'), field: 'title' }, 'where.field', 'unknown_field'],
    [{ ...title('a'), field: ['title', 'size'] }, 'where.field', 'unknown_field'],
    [{ field: ['status'], operator: 'like', value: 'o%' }, 'where.operator', 'operator_not_supported'],
    [{ field: ['id'], operator: 'gt', value: 'o' }, 'where.operator', 'operator_not_supported'],
    [title(null), 'where.value', 'invalid_value'],
    [title('a\0'), 'where.value', 'invalid_value'],
    [title('a'.repeat(1001)), 'where.value', 'value_too_long'],
    [title('a\\', 'like'), 'where.value', 'invalid_value'],
    [title([], 'in'), 'where.value', 'invalid_value'],
    [
      title(
        Array.from({ length: 101 }, () => 'a'),
        'in',
      ),
      'where.value',
      'invalid_value',
    ],
    [title(['a', 1], 'in'), 'where.value[1]', 'invalid_value'],
    [{ field: ['size'], operator: 'eq', value: '1' }, 'where.value', 'invalid_value'],
    [{ field: ['position'], operator: 'eq', value: 1.5 }, 'where.value', 'invalid_value'],
    [{ field: ['done'], operator: 'eq', value: 'true' }, 'where.value', 'invalid_value'],
    [{ field: ['id'], operator: 'eq', value: 'x' }, 'where.value', 'invalid_value'],
    [{ field: ['status'], operator: 'eq', value: 'ajar' }, 'where.value', 'invalid_value'],
  ])('refuses %j at %s', (where, path, code) => {
    expect(faultOf(where)).toMatchObject({ path, code });
  });

  it.each(['2026-02-30', '2026-13-01', '0000-01-01', '2026-01-01T10:00', '2026-01-01T24:00Z', 'yesterday', '1'])(
    'refuses the date %s',
    (value) => {
      expect(faultOf({ field: ['created_at'], operator: 'eq', value })).toMatchObject({ path: 'where.value' });
    },
  );

  it('accepts groups 5 deep and 50 conditions, and no more', () => {
    const many = (length: number) => ({ operator: 'or', conditions: Array.from({ length }, () => title('a')) });
    expect(() => compile(nested(5))).not.toThrow();
    expect(faultOf(nested(6))).toMatchObject({ code: 'too_deep' });
    expect(() => compile(many(50))).not.toThrow();
    expect(faultOf(many(51))).toMatchObject({ path: 'where.conditions[50]', code: 'too_many_conditions' });
  });

  it('refuses a property that JSON puts in the place of the prototype', () => {
    const where: unknown = JSON.parse('{"field":["title"],"operator":"eq","value":"a","__proto__":{"x":1}}');
    expect(faultOf(where)).toMatchObject({ code: 'unknown_property' });
  });

  const text = fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.replaceAll(/[\0\\]/g, ''));
  const condition = fc.oneof(
    fc.record({
      field: fc.constant(['title']),
      operator: fc.constantFrom('eq', 'gt', 'gte', 'lt', 'lte', 'like', 'contains'),
      value: text,
    }),
    fc.record({
      field: fc.constant(['title']),
      operator: fc.constant('in'),
      value: fc.array(text, { minLength: 1, maxLength: 5 }),
    }),
    fc.record({
      field: fc.constant(['size']),
      operator: fc.constantFrom('eq', 'lt'),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    }),
  );
  const { where: anyWhere } = fc.letrec((tie) => ({
    where: fc.oneof(
      { depthIdentifier: 'where', maxDepth: 3 },
      condition,
      fc.record({
        operator: fc.constantFrom('and', 'or', 'not'),
        conditions: fc.array(tie('where'), { minLength: 1, maxLength: 3, depthIdentifier: 'where' }),
      }),
    ),
  }));

  it('never puts a value into the SQL', () => {
    const token =
      /n\.(?:title|size)|:list_where_\d+|CAST\(|AS numeric|ARRAY\[|\]|lower|ANY|ALL|I?LIKE|[<>]?=|[<>]|AND|OR|IS NOT TRUE|[(), ]/g;
    fc.assert(
      fc.property(anyWhere, (where) => {
        const { sql, parameters } = compile(where);
        expect(sql.replaceAll(token, '')).toBe('');
        expect(sql.match(/:list_where_\d+/g)?.sort()).toEqual(
          Object.keys(parameters)
            .map((name) => `:${name}`)
            .sort(),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('throws nothing but invalid_request, whatever it is given', () => {
    const loose = fc.record(
      {
        field: fc.oneof(fc.anything(), fc.array(fc.constantFrom('title', 'size', 'created_at', 'id', '__proto__'))),
        operator: fc.oneof(fc.anything(), fc.constantFrom('and', 'or', 'not', 'eq', 'in', 'like', 'contains', 'gt')),
        value: fc.anything(),
        conditions: fc.oneof(fc.anything(), fc.array(fc.anything())),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), loose), (where) => {
        try {
          compile(where);
        } catch (error) {
          expect(error).toMatchObject({ name: 'DomainError', code: 'invalid_request' });
        }
      }),
      { numRuns: 500 },
    );
  });
});
