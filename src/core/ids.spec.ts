import { describe, expect, it, jest } from '@jest/globals';
import { isUuid, newId } from './ids.js';

describe('newId', () => {
  it('makes UUIDs of version 7 that are all different and ascend', () => {
    const ids = Array.from({ length: 5_000 }, newId);
    expect(ids.every((id) => isUuid(id) && id.charAt(14) === '7')).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('is of the variant of RFC 9562', () => {
    expect(Array.from({ length: 1_000 }, newId).every((id) => '89ab'.includes(id.charAt(19)))).toBe(true);
  });

  it('keeps ascending when the clock is set back', () => {
    const before = newId();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    try {
      const ids = [before, ...Array.from({ length: 1_000 }, newId)];
      expect(ids.toSorted()).toEqual(ids);
    } finally {
      clock.mockRestore();
    }
  });

  it('contains the time', () => {
    const before = Date.now();
    const told = Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16);
    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now() + 1);
  });
});
