import { describe, expect, it } from '@jest/globals';
import { jsonOf, tableOf } from './json-table.js';

describe('tableOf', () => {
  it('finds the columns of all rows, in their order', () => {
    const rows = [
      { id: 1, name: 'a' },
      { id: 2, note: null },
    ];
    expect(tableOf(rows)).toEqual({ columns: ['id', 'name', 'note'], rows });
    expect(tableOf({ items: rows })).toEqual({ columns: ['id', 'name', 'note'], rows });
  });

  it.each([
    ['a single object', [{ id: 1 }]],
    ['rows with objects in them', [{ id: 1 }, { id: { of: 2 } }]],
    ['values that are no objects', [1, 2]],
    ['lists', [[1], [2]]],
    ['objects without names', [{}, {}]],
    ['more beside the list', { items: [{ id: 1 }, { id: 2 }], total: 2 }],
    ['too many columns', Array.from({ length: 13 }, (_each, index) => ({ [index]: index }))],
    ['null', null],
    ['a text', 'id'],
  ])('leaves %s', (_what, value) => {
    expect(tableOf(value)).toBeUndefined();
  });
});

describe('jsonOf', () => {
  it.each([
    [' {"a": 1}\n', { a: 1 }],
    ['[1]', [1]],
    ['{"a": ', undefined],
    ['{curly} text', undefined],
    ['{"id":12345678901234567890}', undefined],
    ['[1e400]', undefined],
    ['[9007199254740993.5]', undefined],
    ['{"id":"12345678901234567890"}', { id: '12345678901234567890' }],
    ['1', undefined],
    ['"text"', undefined],
    ['', undefined],
  ])('reads %j', (text, value) => {
    expect(jsonOf(text)).toEqual(value);
  });
});
