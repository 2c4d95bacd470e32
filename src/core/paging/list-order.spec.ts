import { describe, expect, it } from '@jest/globals';
import { resolveOrder } from './list-order.js';
import type { ListSpec } from './list-spec.js';

const spec: ListSpec = {
  name: 'notes',
  fields: {
    id: { column: 'n.id', type: 'uuid' },
    title: { column: 'n.title', type: 'string' },
    error_code: { column: 'n.errorCode', type: 'string', nullable: true },
  },
  defaultOrder: [{ field: 'title', direction: 'desc' }],
  tieBreaker: 'id',
};

const summary = (...args: Parameters<typeof resolveOrder>) =>
  resolveOrder(...args).map(({ name, direction }) => `${name} ${direction}`);

describe('resolveOrder', () => {
  it("falls back to the list's own order and ends with the tie-breaker in the same direction", () => {
    expect(summary(spec, [])).toEqual(['title desc', 'id desc']);
  });

  it('keeps a tie-breaker that the caller orders by', () => {
    expect(summary(spec, [{ field: ['id'], direction: 'asc' }])).toEqual(['id asc']);
  });

  it.each(['secret', '__proto__', 'constructor', 'error_code'])('refuses %s', (name) => {
    const orderBy = [
      { field: ['title'], direction: 'asc' as const },
      { field: [name], direction: 'asc' as const },
    ];
    expect(() => resolveOrder(spec, orderBy)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        errors: [expect.objectContaining({ path: 'orderBy[1].field', code: 'unknown_field' })],
      }),
    );
  });

  it('refuses a field that is named twice', () => {
    const term = { field: ['title'], direction: 'asc' as const };
    expect(() => resolveOrder(spec, [term, term])).toThrow(
      expect.objectContaining({ errors: [expect.objectContaining({ code: 'duplicate_field' })] }),
    );
  });
});
