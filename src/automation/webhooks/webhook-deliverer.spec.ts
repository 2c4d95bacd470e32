import { describe, expect, it } from '@jest/globals';
import { retryDelay } from './webhook-deliverer.js';

const PAUSES_S = [5, 60, 300, 1800, 7200, 18_000, 36_000];

describe('retryDelay', () => {
  it.each(PAUSES_S.map((pause, index) => [index + 1, pause]))(
    'is, after %i failed tries, %i seconds, give or take a tenth',
    (tries, pause) => {
      expect(retryDelay(tries, 0.5)).toBe(pause * 1000);
      expect(retryDelay(tries, 0)).toBe(pause * 900);
      expect(retryDelay(tries, 0.999999)).toBeCloseTo(pause * 1100, -2);
    },
  );

  it('ends after the eighth try', () => {
    expect(retryDelay(8)).toBeUndefined();
  });
});
