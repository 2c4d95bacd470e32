import { describe, expect, it } from '@jest/globals';
import { conditionOf } from './condition.js';

describe('conditionOf', () => {
  it.each([
    [{ isAway: true, runs: { failed: 0 }, waiting: 0 }, 'failing', 'The service does not answer'],
    [{ isAway: false, runs: undefined, waiting: undefined }, 'unknown', 'Nothing is known yet'],
    [{ isAway: false, runs: { failed: 1 }, waiting: 2 }, 'failing', '1 run failed'],
    [{ isAway: false, runs: { failed: 3 }, waiting: 0 }, 'failing', '3 runs failed'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 1 }, 'waiting', '1 approval waits'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 2 }, 'waiting', '2 approvals wait'],
    [{ isAway: false, runs: { failed: 0 }, waiting: 0 }, 'well', 'No run failed'],
  ])('%j', (known, kind, words) => {
    expect(conditionOf(known)).toEqual({ kind, words });
  });
});
