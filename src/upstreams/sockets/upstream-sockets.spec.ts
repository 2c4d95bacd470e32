import { describe, expect, it, jest } from '@jest/globals';
import { type GiveBack, type SocketClaim, type SocketLimits, SocketPlaces } from './upstream-sockets.js';

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

/** Takes sockets until a request would have to wait, and returns them. */
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
  it('limits one caller to half of a connection', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    expect(takeAll(places, claimOf())).toHaveLength(8);
    expect(takeAll(places, claimOf({ caller: 'key-2' }))).toHaveLength(4);
    expect(takeAll(places, claimOf({ caller: 'anonymous' }))).toHaveLength(2);
  });

  it('limits one organization to half of an origin, with any number of connections', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    let taken = 0;
    for (let i = 0; i < 20; i++) taken += takeAll(places, claimOf({ connectionId: `acme-${i}` })).length;
    expect(taken).toBe(16);
    expect(takeAll(places, claimOf({ organizationId: 'other', connectionId: 'other-1' }))).toHaveLength(8);
  });

  it('limits one organization to half of the process, with any number of origins', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    let taken = 0;
    for (let i = 0; i < 20; i++) {
      taken += takeAll(places, claimOf({ connectionId: `acme-${i}`, origin: `https://${i}.example` })).length;
    }
    expect(taken).toBe(32);
    expect(takeAll(places, claimOf({ organizationId: 'other', connectionId: 'other-1' }))).toHaveLength(8);
  });

  it('queues requests, and alternates between callers', async () => {
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

  it('limits the queue and the waiting time', async () => {
    const places = new SocketPlaces(LIMITS);
    takeAll(places, claimOf());
    // `takeAll` has already queued one request.
    const waiting = [1, 2].map(() => places.take(claimOf(), never));
    await expect(places.take(claimOf(), never)).rejects.toMatchObject({ kind: 'busy' });
    for (const one of waiting) await expect(one).rejects.toMatchObject({ kind: 'busy' });
    await expect(Promise.resolve(places.take(claimOf({ caller: 'key-2' }), never))).resolves.toEqual(
      expect.any(Function),
    );
  });

  it('removes an aborted request from the queue', async () => {
    const places = new SocketPlaces({ ...LIMITS, waitMs: 10_000 });
    const taken = takeAll(places, claimOf({ caller: 'key-9' }));
    // The aborted request must not keep a socket.
    const stop = jest.fn<(callback: () => void) => void>();
    const waiting = places.take(claimOf({ caller: 'key-9' }), stop);
    stop.mock.calls[0]?.[0]();
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
    for (const giveBack of taken) giveBack();
    expect(takeAll(places, claimOf({ caller: 'key-9' }))).toHaveLength(7);
  });

  it('releases returned sockets completely', () => {
    const places = new SocketPlaces({ ...LIMITS, waiting: 0 });
    for (let round = 0; round < 3; round++) {
      const taken = takeAll(places, claimOf());
      expect(taken).toHaveLength(8);
      for (const giveBack of taken) giveBack();
    }
  });
});
