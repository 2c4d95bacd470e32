import { describe, expect, it } from '@jest/globals';
import { counted, formatBytes, formatCost, formatCount, formatDuration, formatExactCost } from './format.js';

describe('formatDuration', () => {
  it.each([
    [0, '0 ms'],
    [0.04, '0 ms'],
    [9.94, '9.9 ms'],
    [12.4, '12 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [3449, '3.4 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min'],
    [125_000, '2 min 5 s'],
    [300_000, '5 min'],
    [3_599_499, '59 min 59 s'],
    [3_599_600, '1 h'],
    [5_400_000, '1 h 30 min'],
    [360_000_000, '100 h'],
    [3_600_000_000, '1,000 h'],
  ])('says %d ms as %s', (ms, words) => {
    expect(formatDuration(ms)).toBe(words);
  });

  it('never says a thousand of a unit that has a greater one', () => {
    expect(formatDuration(999.6)).toBe('1.0 s');
  });
});

describe('amounts', () => {
  it('have as many digits as they need', () => {
    expect([12.3, 0.01, 0, 0.0000059].map(formatCost)).toEqual(['$12.30', '$0.01', '$0.00', '$0.0000059']);
    expect([12.3, 0.0451].map(formatExactCost)).toEqual(['$12.30', '$0.0451']);
  });

  it('have the right unit', () => {
    expect([1, 840, 12_288, 1_468_006].map(formatBytes)).toEqual(['1 byte', '840 bytes', '12 KiB', '1.4 MiB']);
    expect([counted(1, 'error'), counted(12_345, 'error'), counted(2, 'person', 'people')]).toEqual([
      '1 error',
      '12,345 errors',
      '2 people',
    ]);
    expect([formatCount(7), formatCount(10_001, true)]).toEqual(['7', '10,000+']);
  });
});
