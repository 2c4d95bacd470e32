import { describe, expect, it } from '@jest/globals';
import { Quarantine } from './quarantine.js';

describe('Quarantine', () => {
  it('begins when the debt exceeds the tolerance, and ends when time has paid it off', () => {
    const quarantine = new Quarantine(3_000);
    quarantine.charge(1_000, 0);
    quarantine.charge(1_000, 0);
    quarantine.charge(1_000, 0);
    expect(quarantine.holds(0)).toBe(false);
    quarantine.charge(1_000, 0);
    expect(quarantine.holds(19_999)).toBe(true);
    expect(quarantine.holds(20_000)).toBe(false);
  });

  it('gives no more than its share of a core in the long run', () => {
    const quarantine = new Quarantine(3_000);
    let spent = 0;
    for (let now = 0; now < 1_000_000; now += 100) {
      if (quarantine.holds(now)) continue;
      quarantine.charge(1_000, now);
      spent += 1_000;
    }
    expect(spent).toBeLessThan(1_000_000 * 0.05 + 5_000);
  });

  it('forgets old debts', () => {
    const quarantine = new Quarantine(1_500);
    for (let hour = 0; hour < 10; hour++) quarantine.charge(1_000, hour * 3_600_000);
    expect(quarantine.holds(9 * 3_600_000)).toBe(false);
  });
});
