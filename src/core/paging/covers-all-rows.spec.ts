import { describe, expect, it } from '@jest/globals';
import { coversAllRows } from './covers-all-rows.js';
import type { ListInput } from './list-input.js';
import type { ListSpec } from './list-spec.js';

const spec: ListSpec = {
  name: 'notes',
  fields: {
    id: { column: 'n.id', type: 'uuid' },
    title: { column: 'n.title', type: 'string' },
    created_at: { column: 'n.createdAt', type: 'date' },
  },
  searches: { text: { operator: 'matches', type: 'string', condition: () => 'TRUE' } },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};
const condition = (operator: string) => ({ field: ['title'], operator, value: 'a' });
const group = (...conditions: object[]) => ({ operator: 'or', conditions });
const orderBy = (field: string): ListInput => ({ orderBy: [{ field: [field], direction: 'asc' }] });
const equals = (count: number) => Array.from({ length: count }, () => condition('eq'));

describe('coversAllRows', () => {
  it.each<[string, ListInput]>([
    ['like', { where: condition('like') }],
    ['a search', { where: group({ field: ['text'], operator: 'matches', value: 'a' }) }],
    ['contains inside groups', { where: group(condition('eq'), group(condition('contains'))) }],
    ['six conditions', { where: group(group(...equals(3)), ...equals(3)) }],
    ['another order', orderBy('title')],
  ])('is true for %s', (_what, input) => {
    expect(coversAllRows(input, spec)).toBe(true);
  });

  it.each<[string, ListInput]>([
    ['nothing', {}],
    ['null', { where: null, orderBy: null }],
    ['five conditions', { where: group(...equals(5)) }],
    ['its own order reversed', orderBy('created_at')],
    ['the order of the ids', orderBy('id')],
  ])('is false for %s', (_what, input) => {
    expect(coversAllRows(input, spec)).toBe(false);
  });
});
