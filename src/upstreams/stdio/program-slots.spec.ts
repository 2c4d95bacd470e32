import { describe, expect, it } from '@jest/globals';
import { findObstacle, type ProgramHolder, type ProgramSlot, sharesOf } from './program-slots.js';

const SHARES = sharesOf(16);

function holder(organizationId: string, connectionId: string, callerId?: string): ProgramHolder {
  return { organizationId, connectionId, callerId };
}

function slots(count: number, of: ProgramHolder, unusedMs: number | undefined): ProgramSlot[] {
  const makeRoom = unusedMs === undefined ? undefined : () => Promise.resolve();
  return Array.from({ length: count }, () => ({ holder: of, makeRoom, unusedMs: unusedMs ?? 0 }));
}

describe('findObstacle', () => {
  it('gives every scope a share of at least one program', () => {
    expect(SHARES).toEqual({ caller: 4, connection: 8, organization: 12, service: 16 });
    expect(sharesOf(1)).toEqual({ caller: 1, connection: 1, organization: 1, service: 1 });
  });

  it("limits one caller over all connections, and frees the caller's least recently used program", () => {
    const mine = [...slots(2, holder('a', 'one', 'me'), undefined), ...slots(2, holder('a', 'two', 'me'), undefined)];
    const me = holder('a', 'three', 'me');
    expect(findObstacle(me, mine, SHARES, true)).toEqual({ scope: 'caller', slot: undefined });
    expect(findObstacle(holder('a', 'one', 'other'), mine, SHARES, true)).toBeUndefined();
    const unused = slots(1, holder('a', 'one', 'me'), 50);
    const longer = slots(1, holder('a', 'one', 'me'), 90);
    const others = slots(1, holder('a', 'one', 'other'), 900);
    const obstacle = findObstacle(me, [...mine.slice(2), ...unused, ...longer, ...others], SHARES, true);
    expect(obstacle).toEqual({ scope: 'caller', slot: longer[0] });
  });

  it('limits the sessions with one connection, but not its shared program', () => {
    const sessions = ['k1', 'k2'].flatMap((key) => slots(4, holder('a', 'one', key), undefined));
    expect(findObstacle(holder('a', 'one', 'k3'), sessions, SHARES, true)).toEqual({
      scope: 'connection',
      slot: undefined,
    });
    expect(findObstacle(holder('a', 'two', 'k3'), sessions, SHARES, true)).toBeUndefined();
    expect(findObstacle(holder('a', 'one'), sessions, SHARES, true)).toBeUndefined();
  });

  it('reserves a share for other organizations, if there are any', () => {
    const busy = Array.from({ length: 12 }, (_, n) => slots(1, holder('a', `c${n}`), undefined)).flat();
    expect(findObstacle(holder('a', 'more'), busy, SHARES, false)).toEqual({ scope: 'organization', slot: undefined });
    expect(findObstacle(holder('a', 'more'), busy, SHARES, true)).toBeUndefined();
    expect(findObstacle(holder('b', 'other'), busy, SHARES, false)).toBeUndefined();
  });

  it('frees a slot of the holder with the most programs if all are taken', () => {
    const large = slots(9, holder('a', 'one'), 10);
    const small = slots(7, holder('b', 'two'), 1000);
    expect(findObstacle(holder('b', 'three'), [...large, ...small], SHARES, false)?.slot?.holder).toEqual(
      holder('a', 'one'),
    );
    expect(findObstacle(holder('a', 'three'), [...large, ...small], SHARES, false)?.slot?.holder).toEqual(
      holder('a', 'one'),
    );
    const busy = slots(16, holder('a', 'one'), undefined);
    expect(findObstacle(holder('b', 'two'), busy, SHARES, false)).toEqual({ scope: 'service', slot: undefined });
  });
});
