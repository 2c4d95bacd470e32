import { describe, expect, it } from '@jest/globals';
import { OutputBudget } from './program-output.js';

describe('OutputBudget', () => {
  it('allows a short burst, and a fifth of the time in the long run', () => {
    let now = 0;
    const budget = new OutputBudget(() => now);
    let read = 0;
    expect(budget.spend(100, 200)).toBe(0);
    while (now < 60_000) {
      now += 10;
      read += 10;
      now += budget.spend(4, 40);
    }
    expect(read).toBeGreaterThan(60_000 * 0.15);
    expect(read).toBeLessThan(60_000 * 0.25);
    now += 60_000;
    expect(budget.spend(100, 200)).toBe(0);
  });

  it('bounds the bytes of unfinished lines', () => {
    const budget = new OutputBudget();
    expect(budget.hold(64 * 2 ** 20)).toBe(true);
    expect(budget.hold(1)).toBe(false);
    expect(budget.hold(-2)).toBe(true);
  });
});
