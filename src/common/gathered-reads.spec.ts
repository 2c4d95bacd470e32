import { describe, expect, it } from '@jest/globals';
import { GatheredReads } from './gathered-reads.js';

const MAX_QUERIES = 2;
const MAX_KEYS = 3;

/** Reads whose queries end when the test says so. */
function reads() {
  const queries: { keys: readonly string[]; answer: (found: object) => void; fail: (error: Error) => void }[] = [];
  const gathered = new GatheredReads<string>(
    (keys) =>
      new Promise((resolve, reject) => {
        queries.push({ keys, answer: (found) => resolve(new Map(Object.entries(found))), fail: reject });
      }),
    MAX_QUERIES,
    MAX_KEYS,
  );
  return { gathered, queries };
}

describe('GatheredReads', () => {
  it('reads at once while queries are left, and gathers what comes later', async () => {
    const { gathered, queries } = reads();
    const found = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => gathered.read(key)));
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

  it('fails only those whose query fails', async () => {
    const { gathered, queries } = reads();
    const [first, second] = [gathered.read('a'), gathered.read('b')];
    queries[0]?.fail(new Error('away'));
    queries[1]?.answer({ b: 'B' });
    await expect(first).rejects.toThrow('away');
    expect(await second).toBe('B');
    const again = gathered.read('a');
    queries[2]?.answer({ a: 'A' });
    expect(await again).toBe('A');
  });
});
