import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FairShare, type FairShareOptions } from './fair-share.js';
import { atMost, type Claim, half, type Holder, type Limit, Shares } from './shares.js';

const FULL = new Error('full');
const CAPACITY = 12;

function shareOf(options: Partial<FairShareOptions> = {}): FairShare {
  return new FairShare({
    capacity: CAPACITY,
    limits: [half, half],
    places: new Shares(Infinity),
    refusal: () => FULL,
    ...options,
  });
}

const organization = fc.constantFrom('a', 'b', 'c');
const holder = fc.tuple(organization, fc.constantFrom('x', 'y'));
const claims = fc.array(fc.record({ holder, units: fc.integer({ min: 1, max: 4 }) }), { maxLength: 40 });
const limits: fc.Arbitrary<readonly Limit[]> = fc.constantFrom(
  [],
  [half],
  [half, half],
  [atMost(3)],
  [atMost(8), atMost(4)],
  [(left) => left / 2, (left) => (left * 3) / 4],
);

function sum(held: readonly Claim[], of: Holder): number {
  const isOf = ({ holder: path }: Claim): boolean => of.every((name, level) => path[level] === name);
  return held.filter(isOf).reduce((all, { units = 1 }) => all + units, 0);
}

describe('Shares', () => {
  it('grants a claim exactly if it exceeds no limit at any level of its path', () => {
    fc.assert(
      fc.property(claims, limits, (asked, ofLevels) => {
        const shares = new Shares(CAPACITY, ofLevels);
        const held: Claim[] = [];
        for (const claim of asked) {
          let left = CAPACITY;
          claim.holder.forEach((_name, level) => {
            left -= sum(held, claim.holder.slice(0, level)) - sum(held, claim.holder.slice(0, level + 1));
            left = Math.min(left, ofLevels[level]?.(left) ?? left);
          });
          const isWithin = sum(held, claim.holder) + claim.units <= left;
          expect(shares.tryTake(claim)).toBe(isWithin);
          if (isWithin) held.push(claim);
          expect(shares.held).toBe(sum(held, []));
          expect(shares.held).toBeLessThanOrEqual(CAPACITY);
        }
        for (const claim of held) shares.giveBack(claim);
        expect([shares.held, shares.isOpenTo({ holder: [], units: CAPACITY })]).toEqual([0, true]);
      }),
    );
  });

  it('has a unit for a newcomer as long as any is free, if limits are parts of what others leave', () => {
    fc.assert(
      fc.property(claims, (asked) => {
        const shares = new Shares(CAPACITY, [half, half]);
        for (const claim of asked) {
          shares.tryTake(claim);
          expect(shares.isOpenTo({ holder: ['new', 'z'] })).toBe(shares.held < CAPACITY);
          const [of] = claim.holder;
          expect(shares.isOpenTo({ holder: [of, 'new'] })).toBe(shares.isOpenTo({ holder: [of] }));
        }
      }),
    );
  });

  it('takes from two shares together or from none', () => {
    const [one, other] = [new Shares(3), new Shares(2)];
    const claim = { holder: ['a'], also: { of: other, holder: ['b'] } };
    expect([1, 2, 3].map(() => one.tryTake(claim))).toEqual([true, true, false]);
    one.giveBack(claim);
    expect([one.held, other.held]).toEqual([1, 1]);
  });
});

/** Claims on a share, those that wait in the order of their arrival. */
class Claims {
  readonly waiting: Claim[] = [];
  readonly held: Claim[] = [];

  constructor(readonly share: FairShare) {}

  async take(claim: Claim): Promise<void> {
    void this.hold(claim);
    await settled();
  }

  private async hold(claim: Claim): Promise<void> {
    this.waiting.push(claim);
    await this.share.take(claim);
    this.waiting.splice(this.waiting.indexOf(claim), 1);
    this.held.push(claim);
  }

  /** Returns the claims that were admitted instead. */
  async giveBack(claim: Claim): Promise<Claim[]> {
    this.held.splice(this.held.indexOf(claim), 1);
    const before = this.held.length;
    this.share.giveBack(claim);
    await settled();
    return this.held.slice(before);
  }

  /** The first waiting claim of each holder. */
  get first(): Claim[] {
    return [...Map.groupBy(this.waiting, ({ holder: path }) => String(path)).values()].flatMap(
      ([claim]) => claim ?? [],
    );
  }
}

describe('FairShare', () => {
  const step = fc.record({
    claim: fc.record({ holder, units: fc.constant(1) }),
    ends: fc.option(fc.nat(), { freq: 2 }),
  });
  const steps = fc.array(step, { maxLength: 60 });

  it('leaves no unit free that a waiting claim can have, and serves each holder in order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, limits, async (asked, ofLevels) => {
        const claimed = new Claims(shareOf({ capacity: 5, limits: ofLevels }));
        for (const { claim, ends } of asked) {
          const { first } = claimed;
          const ended = ends === null ? undefined : claimed.held[ends % claimed.held.length];
          if (ended === undefined) await claimed.take({ ...claim });
          else for (const admitted of await claimed.giveBack(ended)) expect(first).toContain(admitted);
          expect(claimed.first.filter((waiting) => claimed.share.isOpenTo(waiting))).toEqual([]);
        }
        while (claimed.held[0] !== undefined) await claimed.giveBack(claimed.held[0]);
        expect([claimed.waiting, claimed.share.held]).toEqual([[], 0]);
      }),
      { numRuns: 50 },
    );
  });

  it('gives what becomes free to the organization with the fewest, and in it to the member with the fewest', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (asked) => {
        const claimed = new Claims(shareOf({ capacity: 5, limits: [] }));
        for (const { claim, ends } of asked) {
          const { first } = claimed;
          const ended = ends === null ? undefined : claimed.held[ends % claimed.held.length];
          if (ended === undefined) {
            await claimed.take({ ...claim });
            continue;
          }
          const [admitted] = await claimed.giveBack(ended);
          if (admitted === undefined) continue;
          const before = claimed.held.filter((one) => one !== admitted);
          const ofOrganization = ({ holder: path }: Claim): number => sum(before, path.slice(0, 1));
          const ofMember = ({ holder: path }: Claim): number => sum(before, path);
          const rivals = first.filter((one) => one.holder[0] === admitted.holder[0]);
          expect(ofOrganization(admitted)).toBe(Math.min(...first.map(ofOrganization)));
          expect(ofMember(admitted)).toBe(Math.min(...rivals.map(ofMember)));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('lets organizations take turns, and in each of them its members, however many claims of one wait', async () => {
    const claimed = new Claims(shareOf({ capacity: 1, limits: [] }));
    const waiting = [
      ['a', 'x'],
      ['a', 'x'],
      ['a', 'x'],
      ['a', 'y'],
      ['b', 'x'],
      ['b', 'x'],
      ['c', 'x'],
    ];
    for (const path of waiting) await claimed.take({ holder: path });
    const order: string[] = [];
    for (let [held] = claimed.held; held !== undefined; [held] = claimed.held) {
      order.push(held.holder.join(''));
      await claimed.giveBack(held);
    }
    expect(order).toEqual(['ax', 'ax', 'bx', 'cx', 'ay', 'bx', 'ax']);
  });

  it('does not take the turn from the holder of a claim that gives up', async () => {
    const share = shareOf({ capacity: 1, limits: [] });
    const leaving = new AbortController();
    await share.take({ holder: ['c'] });
    const left = share.take({ holder: ['a'] }, leaving.signal);
    const order: string[] = [];
    const waiting = ['a', 'b'].map((name) => share.within([name], () => Promise.resolve(order.push(name))));
    leaving.abort();
    await expect(left).rejects.toThrow('aborted');
    share.giveBack({ holder: ['c'] });
    await Promise.all(waiting);
    expect(order).toEqual(['a', 'b']);
  });

  it('refuses a claim that has no place, or waits for too long', async () => {
    const share = shareOf({ capacity: 1, limits: [], places: new Shares(3, [half]), waitMs: 20 });
    await share.take({ holder: ['a'] });
    const waiting = ['a', 'a', 'b'].map((name) => share.take({ holder: [name] }));
    await expect(share.take({ holder: ['a'] })).rejects.toBe(FULL);
    await expect(share.take({ holder: ['b'] })).rejects.toBe(FULL);
    for (const claim of waiting) await expect(claim).rejects.toBe(FULL);
    share.giveBack({ holder: ['a'] });
    await share.take({ holder: ['a'] });
    expect(share.held).toBe(1);
  });

  it('forgets a claim whose signal aborts, and serves those behind it', async () => {
    const share = shareOf({ limits: [] });
    const leaving = new AbortController();
    await share.take({ holder: ['a'], units: CAPACITY - 1 });
    const large = share.take({ holder: ['a'], units: 2 }, leaving.signal);
    const small = share.take({ holder: ['a'] });
    leaving.abort(new Error('left'));
    await expect(large).rejects.toThrow('left');
    await small;
    await expect(share.take({ holder: ['b'] }, leaving.signal)).rejects.toThrow('left');
    expect(share.held).toBe(CAPACITY);
  });

  it('keeps the unit of work until it has ended or failed, even if its caller has left', async () => {
    const share = shareOf({ capacity: 1 });
    const leaving = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const work = share.within(['a'], () => promise, leaving.signal);
    const next = share.within(['b'], () => Promise.resolve('done'));
    leaving.abort();
    await settled();
    expect(share.held).toBe(1);
    reject(new Error('broken'));
    await expect(work).rejects.toThrow('broken');
    expect(await next).toBe('done');
    expect(share.held).toBe(0);
  });
});
