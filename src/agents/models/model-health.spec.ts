import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ModelHealth } from './model-health.js';

const MODEL = { providerId: 'p', model: 'm' };

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

describe('ModelHealth', () => {
  it('passes a model over after three failures, and lets one run try it after each pause', () => {
    const health = new ModelHealth();
    const fail = (): void => health.noteFailure(MODEL);
    fail();
    fail();
    expect(health.admits(MODEL)).toBe(true);
    fail();
    // Calls that were under way.
    for (let n = 0; n < 20; n++) fail();
    expect(health.admits(MODEL)).toBe(false);
    for (const pauseMs of [10_000, 20_000, 40_000, 80_000, 120_000, 120_000]) {
      jest.advanceTimersByTime(pauseMs - 1);
      expect(health.admits(MODEL)).toBe(false);
      jest.advanceTimersByTime(1);
      expect([health.admits(MODEL), health.admits(MODEL)]).toEqual([true, false]);
      fail();
    }
    health.noteSuccess(MODEL);
    expect([health.admits(MODEL), health.admits(MODEL)]).toEqual([true, true]);
    expect(health.admits({ ...MODEL, model: 'other' })).toBe(true);
  });
});
