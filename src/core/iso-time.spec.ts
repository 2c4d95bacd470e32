import { describe, expect, it } from '@jest/globals';
import { isoTime } from './iso-time.js';

describe('isoTime', () => {
  it.each([
    [0],
    [1],
    [999],
    [1_000],
    [Date.UTC(2026, 0, 31, 23, 59, 59, 999)],
    [Date.UTC(2026, 1, 1)],
    [Date.UTC(2028, 1, 29, 12, 0, 0, 50)],
    // Back again, as clocks go.
    [Date.UTC(2026, 0, 31, 23, 59, 59, 7)],
  ])('formats %i as Date does', (time) => {
    expect(isoTime(time)).toBe(new Date(time).toISOString());
  });
});
