import { describe, expect, it } from '@jest/globals';
import { exceededLimit } from './json-size.js';

describe('exceededLimit', () => {
  const limits = { nodes: 5, depth: 2, characters: 10 };

  it.each([
    ['nothing much', { a: [1, 2], b: null }, undefined],
    ['values', [1, 2, 3, 4, 5], 'nodes'],
    ['levels', { a: { b: {} } }, 'depth'],
    ['text', 'x'.repeat(11), 'characters'],
    ['names', { ['x'.repeat(11)]: 1 }, 'characters'],
    ['texts and names together', { aaaaa: 'bbbbbb' }, 'characters'],
  ])('finds %s', (_, value, limit) => {
    expect(exceededLimit(value, limits)).toBe(limit);
  });

  it('does not visit values below the depth limit', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(exceededLimit(deep, { ...limits, nodes: 1_000_000 })).toBe('depth');
  });
});
