import { describe, expect, it } from '@jest/globals';
import { conditionOf } from './condition.js';

describe('conditionOf', () => {
  it.each([
    [{ isAway: true, runs: { failed: 0 }, waiting: 0 }, 'failed', 'The service does not answer'],
    [{ isAway: false, runs: undefined, waiting: undefined }, 'off', 'Nothing is known yet'],
    [{ isAway: false, runs: { failed: 1 }, waiting: 2 }, 'failed', '1 run failed'],
    [{ isAway: false, runs: { failed: 3 }, waiting: 0 }, 'failed', '3 runs failed'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 1 }, 'waiting', '1 approval waits'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 2 }, 'waiting', '2 approvals wait'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 0 }, 'ready', 'No run failed'],
  ])('%j', (known, state, words) => {
    expect(conditionOf(known)).toEqual({ state, words });
  });
});
