import { describe, expect, it } from '@jest/globals';
import { Quarantine } from './quarantine.js';

describe('Quarantine', () => {
  it('begins when the debt exceeds the tolerance, and ends when time has reduced it', () => {
    const quarantine = new Quarantine(3_000);
    quarantine.charge(1_000, 0);
    quarantine.charge(1_000, 0);
    quarantine.charge(1_000, 0);
    expect(quarantine.isActive(0)).toBe(false);
    quarantine.charge(1_000, 0);
    expect(quarantine.isActive(19_999)).toBe(true);
    expect(quarantine.isActive(20_000)).toBe(false);
  });

  it('bounds the share of a core in the long run', () => {
    const quarantine = new Quarantine(3_000);
    let spent = 0;
    for (let now = 0; now < 1_000_000; now += 100) {
      if (quarantine.isActive(now)) continue;
      quarantine.charge(1_000, now);
      spent += 1_000;
    }
    expect(spent).toBeLessThan(1_000_000 * 0.05 + 5_000);
  });

  it('drops old debts', () => {
    const quarantine = new Quarantine(1_500);
    for (let hour = 0; hour < 10; hour++) quarantine.charge(1_000, hour * 3_600_000);
    expect(quarantine.isActive(9 * 3_600_000)).toBe(false);
  });
});
