import { describe, expect, it, jest } from '@jest/globals';
import { type GiveBack, type SocketClaim, type SocketLimits, SocketPlaces } from './socket-places.js';

const LIMITS: SocketLimits = {
  inAll: 64,
  perOrigin: 32,
  perConnection: 16,
  waiting: 8,
  waitingPerCaller: 3,
  waitMs: 50,
};
const never = (): void => undefined;

const claimOf = (more: Partial<SocketClaim> = {}): SocketClaim => ({
  organizationId: 'acme',
  connectionId: 'acme-1',
  origin: 'https://one.example',
  caller: 'key-1',
  ...more,
});

/** Takes until a request would have to wait; returns what it got. */
function takeAll(places: SocketPlaces, claim: SocketClaim): GiveBack[] {
  const taken: GiveBack[] = [];
  for (;;) {
    const got = places.take(claim, never);
    if (got instanceof Promise) {
      got.catch(() => undefined);
      return taken;
    }
    taken.push(got);
  }
}

describe('SocketPlaces', () => {
  it('gives one caller of a connection half of it, and leaves the rest to others', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    expect(takeAll(places, claimOf())).toHaveLength(8);
    expect(takeAll(places, claimOf({ caller: 'key-2' }))).toHaveLength(4);
    expect(takeAll(places, claimOf({ caller: 'anonymous' }))).toHaveLength(2);
  });

  it('gives one organization half of an origin, through however many connections', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    let taken = 0;
    for (let i = 0; i < 20; i++) taken += takeAll(places, claimOf({ connectionId: `acme-${i}` })).length;
    expect(taken).toBe(16);
    expect(takeAll(places, claimOf({ organizationId: 'other', connectionId: 'other-1' }))).toHaveLength(8);
  });

  it('gives one organization half of the process, through however many origins', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    let taken = 0;
    for (let i = 0; i < 20; i++) {
      taken += takeAll(places, claimOf({ connectionId: `acme-${i}`, origin: `https://${i}.example` })).length;
    }
    expect(taken).toBe(32);
    expect(takeAll(places, claimOf({ organizationId: 'other', connectionId: 'other-1' }))).toHaveLength(8);
  });

  it('lets a request wait, and the lines of callers take turns', async () => {
    const places = new SocketPlaces({ ...LIMITS, perConnection: 2, waitMs: 10_000 });
    const first = await places.take(claimOf(), never);
    const second = await places.take(claimOf({ caller: 'key-2' }), never);
    const order: string[] = [];
    const next = async (caller: string): Promise<void> => {
      const giveBack = await places.take(claimOf({ caller }), never);
      order.push(caller);
      giveBack();
    };
    const waiting = [next('key-1'), next('key-1'), next('key-3')];
    first();
    second();
    await Promise.all(waiting);
    expect(order.filter((caller) => caller === 'key-1')).toHaveLength(2);
    expect(order.indexOf('key-3')).toBeLessThan(2);
  });

  it('lets few wait, and not for long', async () => {
    const places = new SocketPlaces(LIMITS);
    takeAll(places, claimOf());
    // One more waits since `takeAll`.
    const waiting = [1, 2].map(() => places.take(claimOf(), never));
    await expect(places.take(claimOf(), never)).rejects.toMatchObject({ kind: 'busy' });
    for (const one of waiting) await expect(one).rejects.toMatchObject({ kind: 'busy' });
    await expect(Promise.resolve(places.take(claimOf({ caller: 'key-2' }), never))).resolves.toEqual(
      expect.any(Function),
    );
  });

  it('forgets a request that nobody waits for any longer', async () => {
    const places = new SocketPlaces({ ...LIMITS, waitMs: 10_000 });
    const taken = takeAll(places, claimOf({ caller: 'key-9' }));
    // That one leaves no more than it has got.
    const stop = jest.fn<(callback: () => void) => void>();
    const waiting = places.take(claimOf({ caller: 'key-9' }), stop);
    stop.mock.calls[0]?.[0]();
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
    for (const giveBack of taken) giveBack();
    expect(takeAll(places, claimOf({ caller: 'key-9' }))).toHaveLength(7);
  });

  it('keeps nothing of what was given back', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    for (let round = 0; round < 3; round++) {
      const taken = takeAll(places, claimOf());
      expect(taken).toHaveLength(8);
      for (const giveBack of taken) giveBack();
    }
  });
});
