import { describe, expect, it } from '@jest/globals';
import { ReadThroughCache } from './read-through-cache.js';

const LIMITS = { ttlMs: 60_000, maxEntries: 3, maxQueries: 2, maxKeysPerQuery: 3 };

/** A cache whose queries end when the test says so. */
function cacheWith(limits: Partial<typeof LIMITS & { maxMissing: number }> = {}) {
  const queries: { keys: readonly string[]; answer: (found: object) => void; fail: (error: Error) => void }[] = [];
  const cache = new ReadThroughCache<string>(
    (keys) =>
      new Promise((resolve, reject) => {
        queries.push({ keys, answer: (found) => resolve(new Map(Object.entries(found))), fail: reject });
      }),
    { ...LIMITS, ...limits },
  );
  const read = async (key: string, found: object): Promise<string | undefined> => {
    const value = cache.get(key);
    queries.at(-1)?.answer(found);
    return value;
  };
  return { cache, queries, read };
}

describe('ReadThroughCache', () => {
  it('returns a value that was read without asking again', async () => {
    const { cache, queries, read } = cacheWith();
    expect(await read('a', { a: 'A' })).toBe('A');
    expect(cache.get('a')).toBe('A');
    expect(queries).toHaveLength(1);
  });

  it('reads at once while queries are free, and batches later keys', async () => {
    const { cache, queries } = cacheWith();
    const found = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => cache.get(key)));
    expect(queries.map(({ keys }) => keys)).toEqual([['a'], ['b']]);
    queries[0]?.answer({ a: 'A' });
    await new Promise(setImmediate);
    expect(queries[2]?.keys).toEqual(['c', 'd', 'e']);
    queries[1]?.answer({});
    queries[2]?.answer({ d: 'D' });
    await new Promise(setImmediate);
    expect(queries[3]?.keys).toEqual(['f']);
    queries[3]?.answer({ f: 'F' });
    expect(await found).toEqual(['A', undefined, undefined, 'D', undefined, 'F']);
    expect(queries).toHaveLength(4);
  });

  it('fails only the keys of a failed query, and reads them again', async () => {
    const { cache, queries, read } = cacheWith();
    const [first, second] = [cache.get('a'), cache.get('b')];
    queries[0]?.fail(new Error('away'));
    queries[1]?.answer({ b: 'B' });
    await expect(first).rejects.toThrow('away');
    expect(await second).toBe('B');
    expect(await read('a', { a: 'A' })).toBe('A');
  });

  it('reads a key without a value again, unless such keys are cached', async () => {
    const forgetful = cacheWith();
    expect([await forgetful.read('a', {}), await forgetful.read('a', {})]).toEqual([undefined, undefined]);
    expect(forgetful.queries).toHaveLength(2);
    const remembering = cacheWith({ maxMissing: 10 });
    expect(await remembering.read('a', {})).toBeUndefined();
    expect(remembering.cache.get('a')).toBeUndefined();
    expect(remembering.queries).toHaveLength(1);
  });

  it('loses no value to keys without one', async () => {
    const { cache, read } = cacheWith({ maxMissing: 2 });
    await read('a', { a: 'A' });
    for (const key of ['b', 'c', 'd', 'e', 'f']) await read(key, {});
    expect(cache.get('a')).toBe('A');
  });

  it('reads a forgotten key again, whether it had a value or not', async () => {
    const { cache, read } = cacheWith({ maxMissing: 10 });
    await read('a', { a: 'A' });
    await read('b', {});
    cache.forget('a');
    cache.forget('b');
    expect([await read('a', { a: 'new' }), await read('b', { b: 'made' })]).toEqual(['new', 'made']);
  });

  it('does not take a key for one without a value when it was forgotten during the reading', async () => {
    const { cache, queries, read } = cacheWith({ maxMissing: 10 });
    const before = cache.get('a');
    cache.forget('a');
    queries[0]?.answer({});
    expect(await before).toBeUndefined();
    expect(await read('a', { a: 'made' })).toBe('made');
  });
});
