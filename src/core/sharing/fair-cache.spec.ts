import { describe, expect, it } from '@jest/globals';
import { FairCache } from './fair-cache.js';

const LIST = {};

function cacheOf(maxEntries: number, maxWeight: number, inUse: readonly string[] = []): FairCache<string> {
  return new FairCache({ maxEntries, maxWeight, isInUse: (value) => inUse.includes(value) });
}

function weighing(weight: number): Map<object, number> {
  return new Map([[{}, weight]]);
}

function contentOf(cache: FairCache<string>): string[] {
  return [...cache.values()];
}

describe('FairCache', () => {
  it('evicts the least recently used value above the limit of entries', () => {
    const cache = cacheOf(2, 10);
    cache.set('a', 'one', 'a');
    cache.set('b', 'one', 'b');
    cache.use('a');
    cache.set('c', 'one', 'c');
    expect(contentOf(cache)).toEqual(['a', 'c']);
  });

  it('evicts as many values as the limit of the weight demands', () => {
    const cache = cacheOf(10, 10);
    for (const key of ['a', 'b', 'c']) cache.set(key, 'one', key, weighing(3));
    cache.set('d', 'one', 'd', weighing(5));
    expect(contentOf(cache)).toEqual(['c', 'd']);
  });

  it('keeps the latest value, whatever it weighs, until another comes', () => {
    const cache = cacheOf(10, 10);
    cache.set('a', 'one', 'a', weighing(100));
    expect(contentOf(cache)).toEqual(['a']);
    cache.set('b', 'one', 'b', weighing(1));
    expect(contentOf(cache)).toEqual(['b']);
  });

  it('keeps the values of other holders when one value alone is too heavy', () => {
    const cache = cacheOf(10, 10);
    for (const key of ['quiet', 'calm']) cache.set(key, key, key, weighing(2));
    cache.set('a', 'greedy', 'a', weighing(100));
    cache.set('a', 'greedy', 'a', weighing(100));
    expect(contentOf(cache)).toEqual(['quiet', 'calm', 'a']);
    cache.set('still', 'still', 'still', weighing(2));
    expect(contentOf(cache)).toEqual(['quiet', 'calm', 'still']);
  });

  it('counts a part that several values of a holder have once, as long as one of them has it', () => {
    const cache = cacheOf(10, 10);
    for (const key of ['a', 'b', 'c']) cache.set(key, 'one', key, new Map([[LIST, 8]]));
    cache.set('d', 'one', 'd', weighing(2));
    expect(contentOf(cache)).toEqual(['a', 'b', 'c', 'd']);
    cache.delete('a');
    cache.delete('b');
    cache.set('e', 'one', 'e', weighing(2));
    expect(contentOf(cache)).toEqual(['d', 'e']);
  });

  it('weighs a value anew that is stored again', () => {
    const cache = cacheOf(10, 10);
    cache.set('a', 'one', 'a', weighing(8));
    cache.set('b', 'one', 'b', weighing(2));
    cache.set('a', 'one', 'a', weighing(1));
    cache.set('c', 'one', 'c', weighing(7));
    expect(contentOf(cache)).toEqual(['b', 'a', 'c']);
  });

  it('evicts from the holder with the largest weight, even if others are less recently used', () => {
    const cache = cacheOf(10, 10);
    for (const key of ['quiet', 'calm', 'still']) cache.set(key, 'one', key, weighing(1));
    for (const key of ['a', 'b', 'c']) cache.set(key, 'greedy', key, weighing(4));
    expect(contentOf(cache)).toEqual(['quiet', 'calm', 'still', 'c']);
  });

  it('evicts from the holder with the most values when there are too many', () => {
    const cache = cacheOf(3, 100);
    cache.set('heavy', 'one', 'heavy', weighing(90));
    for (const key of ['a', 'b', 'c']) cache.set(key, 'greedy', key);
    expect(contentOf(cache)).toEqual(['heavy', 'b', 'c']);
  });

  it('evicts from the holder that was active least recently if several have the most', () => {
    const cache = cacheOf(2, 10);
    for (const key of ['a', 'b']) cache.set(key, `holder of ${key}`, key);
    cache.use('a');
    cache.set('c', 'holder of c', 'c');
    expect(contentOf(cache)).toEqual(['a', 'c']);
  });

  it('keeps what others have while all values of the holder that has the most are in use', () => {
    const cache = cacheOf(3, 10, ['a', 'b']);
    for (const key of ['a', 'b']) cache.set(key, 'greedy', key);
    for (const key of ['c', 'd']) cache.set(key, `holder of ${key}`, key);
    expect(contentOf(cache)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('does not evict a value in use', () => {
    const cache = cacheOf(1, 10, ['a', 'b']);
    for (const key of ['a', 'b', 'c']) cache.set(key, 'one', key, weighing(6));
    expect(contentOf(cache)).toEqual(['a', 'b', 'c']);
    cache.set('d', 'one', 'd');
    expect(contentOf(cache)).toEqual(['a', 'b', 'd']);
  });
});
