import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Agent } from 'undici';
import { HttpUpstream } from '../http/http-upstream.js';
import type { Upstream } from '../contract/upstream.js';
import { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { type Loan, UpstreamPool } from './upstream-pool.js';
import type { StateOwner } from '../contract/callers.js';
import type { HttpTarget, UpstreamTarget } from '../contract/upstream-target.js';

function target(connectionId: string, revision = '1', organizationId = 'o'): HttpTarget {
  return {
    organizationId,
    connectionId,
    revision,
    url: 'http://upstream.example/mcp',
    headers: {},
    timeoutMs: 1_000,
  };
}

describe('UpstreamPool', () => {
  const sockets = new UpstreamSockets(new Agent());
  /** What the pool created and closed, as `connection@revision`. */
  let created: string[];
  let closed: string[];
  let pool: UpstreamPool;

  beforeEach(() => {
    jest.useFakeTimers();
    created = [];
    closed = [];
    const create = (of: UpstreamTarget): HttpUpstream => {
      const name = `${of.connectionId}@${of.revision}`;
      const upstream = new HttpUpstream(target(of.connectionId, of.revision), sockets);
      jest.spyOn(upstream, 'close').mockImplementation(async () => void closed.push(name));
      created.push(name);
      return upstream;
    };
    pool = new UpstreamPool(create, { size: 2, idleMs: 1_000, ownedSize: 8, ownedIdleMs: 500 });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const touch = (of: UpstreamTarget): Promise<Upstream> => pool.use(of, async (upstream) => upstream);

  /** Borrows an upstream until the returned function is called. */
  function hold(of: UpstreamTarget): () => Promise<void> {
    const gate = Promise.withResolvers<void>();
    const use = pool.use(of, () => gate.promise);
    return () => {
      gate.resolve();
      return use;
    };
  }

  it('lends the same upstream to all users of one revision', async () => {
    const [first, second] = await Promise.all([touch(target('a')), touch(target('a'))]);
    expect(first).toBe(second);
    expect(await touch(target('a', '2'))).not.toBe(first);
    expect(created).toEqual(['a@1', 'a@2']);
  });

  it('closes idle upstreams, but none in use', async () => {
    await touch(target('idle'));
    const release = hold(target('busy'));
    jest.advanceTimersByTime(1_000);
    expect(closed).toEqual(['idle@1']);
    await release();
    jest.advanceTimersByTime(999);
    expect(closed).toEqual(['idle@1']);
    jest.advanceTimersByTime(1);
    expect(closed).toEqual(['idle@1', 'busy@1']);
  });

  it('evicts the least recently used idle upstream', async () => {
    await touch(target('a'));
    await touch(target('b'));
    await touch(target('a'));
    await touch(target('c'));
    expect(closed).toEqual(['b@1']);
    const release = hold(target('a'));
    await touch(target('d'));
    expect(closed).toEqual(['b@1', 'c@1']);
    await release();
  });

  it('evicts an upstream of the organization that has most, also for one of its own', async () => {
    await touch(target('quiet', '1', 'other'));
    for (const connectionId of ['a', 'b']) await touch(target(connectionId));
    expect(closed).toEqual(['a@1']);
    const release = hold(target('b'));
    await touch(target('c'));
    expect(created).toEqual(['quiet@1', 'a@1', 'b@1', 'c@1']);
    expect(closed).toEqual(['a@1']);
    await release();
    expect(closed).toEqual(['a@1', 'b@1']);
  });

  it('lets active calls of an evicted upstream finish', async () => {
    const releases = [hold(target('a')), hold(target('b')), hold(target('c'))];
    expect(closed).toEqual([]);
    await Promise.all(releases.map((release) => release()));
    expect(closed).toEqual(['a@1']);
  });

  it('closes an older revision when a newer one is used', async () => {
    await touch(target('a', '1'));
    await touch(target('b', '1'));
    await touch(target('a', '2'));
    expect(closed).toEqual(['a@1']);
  });

  it('returns the upstream when the work fails', async () => {
    await expect(pool.use(target('a'), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    jest.advanceTimersByTime(1_000);
    expect(closed).toEqual(['a@1']);
  });

  it('closes everything at shutdown', async () => {
    await touch(target('a'));
    const release = hold(target('b'));
    await pool.onApplicationShutdown();
    expect(closed).toEqual(['a@1', 'b@1']);
    await release();
  });

  describe('for owners', () => {
    const ownerOf = (key: string, callerId = key): StateOwner => ({ key, callerId });
    const borrow = (of: UpstreamTarget, owner: StateOwner): Promise<Loan> => pool.borrow(of, { owner });
    const program = (connectionId: string): UpstreamTarget =>
      ({ ...target(connectionId), kind: 'custom', access: { organizationId: 'o' } }) as never;

    it('keeps one each with an upstream that has state, also after another one has used it', async () => {
      const [first, second] = [await borrow(program('a'), ownerOf('x')), await borrow(program('a'), ownerOf('y'))];
      expect(first.upstream).not.toBe(second.upstream);
      first.giveBack();
      expect((await borrow(program('a'), ownerOf('x'))).upstream).toBe(first.upstream);
      expect(await touch(program('a'))).not.toBe(first.upstream);
    });

    it('asks once whether an HTTP upstream has state, and shares it if not', async () => {
      const describe = jest.spyOn(HttpUpstream.prototype, 'serverDescription').mockResolvedValue({} as never);
      const isStateless = jest.spyOn(HttpUpstream.prototype, 'isStateless', 'get').mockReturnValueOnce(undefined);
      isStateless.mockReturnValue(true);
      const [first, second] = [await borrow(target('a'), ownerOf('x')), await borrow(target('a'), ownerOf('y'))];
      expect(first.upstream).toBe(second.upstream);
      expect(describe).toHaveBeenCalledTimes(1);
      isStateless.mockReturnValue(false);
      expect((await borrow(target('a'), ownerOf('x'))).upstream).not.toBe(first.upstream);
      jest.restoreAllMocks();
    });

    it('shares one where the connection says so', async () => {
      const shared = { ...program('a'), sharesState: true };
      expect((await borrow(shared, ownerOf('x'))).upstream).toBe((await borrow(shared, ownerOf('y'))).upstream);
    });

    it('gives one caller a quarter: the least recently used makes room, unless all are in use', async () => {
      const mine = (key: string): StateOwner => ownerOf(key, 'me');
      for (const key of ['x', 'y']) (await borrow(program(key), mine(key))).giveBack();
      await borrow(program('z'), mine('z'));
      expect(closed).toEqual(['x@1']);
      await borrow(program('y'), mine('y'));
      await expect(borrow(program('x'), mine('x'))).rejects.toThrow(
        'the caller has reached the limit of sessions in use',
      );
      await borrow(program('x'), ownerOf('somebody else'));
      expect(closed).toEqual(['x@1', 'x@1']);
    });

    it('closes them when they are idle, and when their owner ends', async () => {
      for (const key of ['x', 'y']) (await borrow(program(key), ownerOf(key))).giveBack();
      pool.endOwned('x');
      expect(closed).toEqual(['x@1']);
      jest.advanceTimersByTime(500);
      expect(closed).toEqual(['x@1', 'y@1']);
    });
  });
});
