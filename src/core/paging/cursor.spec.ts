import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type CursorPosition, type CursorScope, decodeCursor, encodeCursor } from './cursor.js';
import type { FieldValue } from './field-value.js';

const scope: CursorScope = {
  list: 'notes',
  order: [
    { name: 'created_at', field: { column: 'n.createdAt', type: 'date' }, direction: 'desc' },
    { name: 'size', field: { column: 'n.size', type: 'number' }, direction: 'asc' },
    { name: 'title', field: { column: 'n.title', type: 'string' }, direction: 'asc' },
  ],
  where: { sql: 'n.title = :list_where_0', parameters: { list_where_0: 'a' } },
};
const values: FieldValue[] = ['2026-01-02T03:04:05.678Z', 1.5, 'naïve'];
const position: CursorPosition = { values, totalCount: 42 };
const invalid = expect.objectContaining({ name: 'DomainError', code: 'invalid_cursor' });

describe('cursor', () => {
  it('returns the values of the last row and the count', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
    const instant = fc
      .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString());
    fc.assert(
      fc.property(fc.tuple(instant, finite, text), fc.nat(), (row, totalCount) => {
        const last = { values: row, totalCount };
        expect(decodeCursor(scope, encodeCursor(scope, last))).toEqual(last);
      }),
    );
  });

  it.each([
    ['list', { ...scope, list: 'threads' }],
    ['filter', { ...scope, where: undefined }],
    ['value in the filter', { ...scope, where: { sql: 'n.title = :list_where_0', parameters: { list_where_0: 'b' } } }],
    ['direction', { ...scope, order: scope.order.map((term) => ({ ...term, direction: 'asc' as const })) }],
    ['order', { ...scope, order: scope.order.slice(0, 2) }],
  ])('is refused under another %s', (_, other) => {
    expect(() => decodeCursor(other, encodeCursor(scope, position))).toThrow(invalid);
  });

  it('is refused when any one character is changed, added or missing', () => {
    const cursor = encodeCursor(scope, position);
    for (let index = 0; index < cursor.length; index += 1) {
      const [before, after] = [cursor.slice(0, index), cursor.slice(index + 1)];
      const other = cursor[index] === 'A' ? 'B' : 'A';
      expect(() => decodeCursor(scope, `${before}${other}${after}`)).toThrow(invalid);
      expect(() => decodeCursor(scope, `${before}${after}`)).toThrow(invalid);
    }
    expect(() => decodeCursor(scope, `${cursor}=`)).toThrow(invalid);
  });

  it('is refused when its values were forged to another type', () => {
    const forged = encodeCursor(scope, {
      ...position,
      values: ['2026-01-02T03:04:05.678Z', '1; DROP TABLE notes', 'a'],
    });
    expect(() => decodeCursor(scope, forged)).toThrow(invalid);
  });

  it('throws only invalid_cursor for malformed input', () => {
    const rubbish = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
    );
    fc.assert(
      fc.property(rubbish, (text) => {
        expect(() => decodeCursor(scope, text)).toThrow(invalid);
      }),
    );
  });
});
