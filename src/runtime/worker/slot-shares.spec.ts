import { describe, expect, it } from '@jest/globals';
import { SlotShares } from './run-slots.js';

function taken(shares: SlotShares, organizationId: string, holderId: string): number {
  const tenant = { organizationId, holderId };
  let count = 0;
  while (!shares.isFull) {
    const { organizations, holders } = shares.exhausted();
    if (organizations.includes(organizationId) || holders.includes(holderId)) break;
    shares.add(tenant);
    count += 1;
  }
  return count;
}

describe('SlotShares', () => {
  it.each([
    [50, 44, 3, 3],
    [4, 2, 1, 1],
    [2, 2, 0, 0],
    [1, 1, 0, 0],
  ])(
    'of %i slots, grants one key %i, another key of its organization %i, and another organization %i',
    (slots, ...share) => {
      const shares = new SlotShares(slots);
      expect([taken(shares, 'a', 'one'), taken(shares, 'a', 'two'), taken(shares, 'b', 'three')]).toEqual(share);
    },
  );

  it('releases slots', () => {
    const shares = new SlotShares(10);
    const tenant = { organizationId: 'a', holderId: 'one' };
    for (let n = 0; n < 8; n++) shares.add(tenant);
    expect(shares.exhausted()).toEqual({ organizations: [], holders: ['one'] });
    expect(shares.isShort(tenant)).toBe(false);
    shares.remove(tenant);
    expect(shares.exhausted()).toEqual({ organizations: [], holders: [] });
  });

  it('counts claims in progress against every tenant', () => {
    const shares = new SlotShares(10);
    shares.add({ organizationId: 'a', holderId: 'one' });
    expect(shares.exhausted(6)).toEqual({ organizations: [], holders: [] });
    expect(shares.exhausted(7)).toEqual({ organizations: [], holders: ['one'] });
    expect(shares.exhausted(8)).toEqual({ organizations: ['a'], holders: ['one'] });
  });
});
