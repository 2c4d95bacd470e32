import { describe, expect, it } from '@jest/globals';
import { isUuid, newId } from './ids.js';

describe('newId', () => {
  it('makes UUIDs of version 7 that are all different and ascend', () => {
    const ids = Array.from({ length: 5_000 }, newId);
    expect(ids.every((id) => isUuid(id) && id.charAt(14) === '7')).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('tells the time', () => {
    const before = Date.now();
    const told = Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16);
    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now() + 1);
  });
});
