import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../domain-error.js';
import { readStatsRange } from './time-range.js';

const NOW = new Date('2026-03-04T05:06:07.000Z');

describe('the range of statistics', () => {
  it('defaults to the last 24 hours', () => {
    expect(readStatsRange({}, NOW)).toEqual({ from: new Date('2026-03-03T05:06:07Z'), to: NOW, bucketSeconds: 3600 });
  });

  it('starts 24 hours before a given end', () => {
    expect(readStatsRange({ to: '2026-01-02' }, NOW).from).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it.each([
    ['2026-03-04T05:00:00Z', 60],
    ['2026-03-04T00:06:07Z', 300],
    ['2026-03-02T05:06:07Z', 3600],
    ['2026-02-04T05:06:07Z', 86_400],
    ['2024-03-04T05:06:07Z', 13 * 86_400],
    ['0001-01-01', 12_328 * 86_400],
  ])('from %s has buckets of %i s', (from, bucketSeconds) => {
    expect(readStatsRange({ from }, NOW).bucketSeconds).toBe(bucketSeconds);
  });

  it.each([
    ['from', { from: 'yesterday' }],
    ['from', { from: '2026-03-04T05:00:00' }],
    ['to', { to: '2026-02-30' }],
    ['from', { from: '2026-01-01', to: '2026-01-01' }],
    ['from', { from: '2026-03-05' }],
  ])('rejects an invalid range and names %s', (path, input) => {
    expect(() => readStatsRange(input, NOW)).toThrow(DomainError);
    expect(() => readStatsRange(input, NOW)).toThrow(
      expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ path })] }),
    );
  });
});
