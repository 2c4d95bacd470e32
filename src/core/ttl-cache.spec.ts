import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TtlCache, unsliceString } from './ttl-cache.js';
import { keptBytes } from '../../test/support/kept-bytes.js';
import { newId } from './ids.js';

const TTL_MS = 900;

describe('TtlCache', () => {
  let count: number;
  let cache: TtlCache<number>;
  const read = async (): Promise<number> => ++count;

  beforeEach(() => {
    count = 0;
    cache = new TtlCache({ ttlMs: TTL_MS, maxEntries: 3 });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    // `lru-cache` takes 0 on this clock for "no time to live"; a process never sees it.
    jest.advanceTimersByTime(1);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('reads once, then returns the value itself', async () => {
    expect(await cache.get('a', read)).toBe(1);
    expect(cache.get('a', read)).toBe(1);
  });

  it('shares a reading that is under way', async () => {
    expect(await Promise.all([cache.get('a', read), cache.get('a', read), cache.get('b', read)])).toEqual([1, 1, 2]);
  });

  it('caches that there is nothing', async () => {
    const nothing = new TtlCache<undefined>({ ttlMs: TTL_MS, maxEntries: 3 });
    const readNothing = jest.fn(async () => undefined);
    await nothing.get('a', readNothing);
    expect(nothing.get('a', readNothing)).toBeUndefined();
    expect(readNothing).toHaveBeenCalledTimes(1);
  });

  it('uses a value for its time to live, from the beginning of the reading', async () => {
    const slow = cache.get('a', async () => {
      jest.advanceTimersByTime(TTL_MS - 1);
      return read();
    });
    await slow;
    expect(cache.get('a', read)).toBe(1);
    jest.advanceTimersByTime(2);
    expect(await cache.get('a', read)).toBe(2);
  });

  it('is not misled by a clock that is set back', async () => {
    await cache.get('a', read);
    jest.setSystemTime(Date.now() - 3_600_000);
    jest.advanceTimersByTime(TTL_MS + 1);
    expect(await cache.get('a', read)).toBe(2);
  });

  it('does not prolong a value by using it', async () => {
    await cache.get('a', read);
    jest.advanceTimersByTime(TTL_MS - 1);
    expect(cache.get('a', read)).toBe(1);
    jest.advanceTimersByTime(2);
    expect(await cache.get('a', read)).toBe(2);
  });

  it('does not cache a failure', async () => {
    await expect(cache.get('a', async () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await cache.get('a', read)).toBe(1);
  });

  it('removes entries, including reads in progress', async () => {
    const first = cache.get('a', read);
    cache.forget('a');
    const second = cache.get('a', read);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(cache.get('a', read)).toBe(2);
  });

  it('keeps a newer value when an older reading fails', async () => {
    const failing = Promise.withResolvers<number>();
    const first = cache.get('a', () => failing.promise);
    cache.forget('a');
    await cache.get('a', read);
    failing.reject(new Error('late'));
    await expect(first).rejects.toThrow('late');
    expect(cache.get('a', read)).toBe(1);
  });

  it('evicts the least recently used key beyond its limit', async () => {
    for (const key of ['a', 'b', 'c']) await cache.get(key, read);
    cache.get('a', read);
    await cache.get('d', read);
    expect([cache.get('a', read), cache.get('c', read), cache.get('d', read)]).toEqual([1, 3, 4]);
    expect(await cache.get('b', read)).toBe(5);
  });

  it('evicts no other key to read a known one again', async () => {
    for (const key of ['a', 'b', 'c']) await cache.get(key, read);
    jest.advanceTimersByTime(TTL_MS + 1);
    for (const key of ['c', 'b', 'a', 'c']) await cache.get(key, read);
    expect([cache.get('b', read), cache.get('a', read), cache.get('c', read)]).toEqual([5, 6, 4]);
  });

  it('evicts by weight, and does not cache a value above the limit', async () => {
    const weighed = new TtlCache<number>({ ttlMs: TTL_MS, maxEntries: 3, weight: { max: 100, of: (value) => value } });
    await weighed.get('a', async () => 60);
    await weighed.get('b', async () => 40);
    expect([weighed.get('a', read), weighed.get('b', read)]).toEqual([60, 40]);
    await weighed.get('c', async () => 50);
    expect([weighed.get('b', read), weighed.get('c', read)]).toEqual([40, 50]);
    expect(await weighed.get('a', read)).toBe(1);
    await weighed.get('d', async () => 101);
    expect(await weighed.get('d', read)).toBe(2);
    expect([weighed.get('b', read), weighed.get('c', read)]).not.toContain(undefined);
  });

  it('diverts a value, unless the key was removed meanwhile', async () => {
    const taken: string[] = [];
    const diverting = new TtlCache<number>({
      ttlMs: TTL_MS,
      maxEntries: 3,
      divert: (key, value) => value === 0 && taken.push(key) > 0,
    });
    await diverting.get('a', async () => 0);
    const late = diverting.get('b', async () => 0);
    diverting.forget('b');
    await late;
    expect(taken).toEqual(['a']);
    expect(await diverting.get('a', read)).toBe(1);
  });
});

const WHOLE_BYTES = 64 * 1024;
const COUNT = 500;

/** As the router has it: a part of a path. */
function idInPath(): string {
  const path = Buffer.from(`${newId()}?${'a'.repeat(WHOLE_BYTES)}`).toString('latin1');
  return path.slice(0, 36);
}

function bytesKeptBy(keep: (id: string) => unknown): Promise<number> {
  return keptBytes(async () => {
    for (let i = 0; i < COUNT; i++) await keep(idInPath());
  });
}

describe('detached', () => {
  it.each(['', 'a', 'ä€', '\ud800', newId()])('is the same text: %j', (text) => expect(unsliceString(text)).toBe(text));

  it('lets a cache of look-ups by id forget the path that the id came in', async () => {
    const cache = new TtlCache<undefined>({ ttlMs: 60_000, maxEntries: 10_000 });
    expect(await bytesKeptBy((id) => cache.get(id, async () => undefined))).toBeLessThan((COUNT * WHOLE_BYTES) / 4);
  });
});
