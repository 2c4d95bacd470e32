import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BriefMemory } from './brief-memory.js';

const BELIEVED_MS = 900;

describe('BriefMemory', () => {
  let count: number;
  let memory: BriefMemory<number>;
  const read = async (): Promise<number> => ++count;

  beforeEach(() => {
    count = 0;
    memory = new BriefMemory(BELIEVED_MS, 3);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('reads once, then has the value itself', async () => {
    expect(await memory.get('a', read)).toBe(1);
    expect(memory.get('a', read)).toBe(1);
  });

  it('shares a reading that is under way', async () => {
    expect(await Promise.all([memory.get('a', read), memory.get('a', read), memory.get('b', read)])).toEqual([1, 1, 2]);
  });

  it('forgets what was read first when all weigh too much', async () => {
    const weighed = new BriefMemory<number>(BELIEVED_MS, 10, { max: 5, of: (value) => value });
    await weighed.get('a', async () => 2);
    await weighed.get('b', async () => 3);
    expect([weighed.get('a', read), weighed.get('b', read)]).toEqual([2, 3]);
    weighed.forget('b');
    await weighed.get('c', async () => 3);
    expect(weighed.get('a', read)).toBe(2);
    await weighed.get('d', async () => 1);
    expect(weighed.get('c', read)).toBe(3);
    expect(weighed.get('d', read)).toBe(1);
    expect(weighed.get('a', read)).toBeInstanceOf(Promise);
    await weighed.get('e', async () => 6);
    expect(weighed.get('e', read)).toBeInstanceOf(Promise);
  });

  it('remembers that there is nothing', async () => {
    const nothing = new BriefMemory<number | undefined>(BELIEVED_MS, 3);
    const readNothing = jest.fn(async () => undefined);
    await nothing.get('a', readNothing);
    expect(nothing.get('a', readNothing)).toBeUndefined();
    expect(readNothing).toHaveBeenCalledTimes(1);
  });

  it('believes a value no longer than it may, from the beginning of the reading', async () => {
    await memory.get('a', read);
    jest.advanceTimersByTime(BELIEVED_MS - 1);
    expect(memory.get('a', read)).toBe(1);
    jest.advanceTimersByTime(1);
    expect(await memory.get('a', read)).toBe(2);
  });

  it('believes a value no longer when the clock is set back', async () => {
    await memory.get('a', read);
    jest.setSystemTime(Date.now() - 3_600_000);
    jest.advanceTimersByTime(BELIEVED_MS);
    expect(await memory.get('a', read)).toBe(2);
  });

  it('does not remember a failure', async () => {
    await expect(memory.get('a', async () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await memory.get('a', read)).toBe(1);
  });

  it('forgets, also what is being read', async () => {
    const first = memory.get('a', read);
    memory.forget('a');
    const second = memory.get('a', read);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(memory.get('a', read)).toBe(2);
  });

  it('does not let an old failure take a newer value along', async () => {
    const failing = Promise.withResolvers<number>();
    const first = memory.get('a', () => failing.promise);
    memory.forget('a');
    await memory.get('a', read);
    failing.reject(new Error('late'));
    await expect(first).rejects.toThrow('late');
    expect(memory.get('a', read)).toBe(1);
  });

  it('forgets what was read first rather than to grow without end', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await memory.get(key, read);
    expect([memory.get('b', read), memory.get('c', read), memory.get('d', read)]).toEqual([2, 3, 4]);
    expect(await memory.get('a', read)).toBe(5);
  });

  it('forgets no other key to read a known one anew', async () => {
    for (const key of ['a', 'b', 'c']) await memory.get(key, read);
    jest.advanceTimersByTime(BELIEVED_MS);
    for (const key of ['c', 'b', 'a', 'c']) await memory.get(key, read);
    expect([memory.get('b', read), memory.get('a', read), memory.get('c', read)]).toEqual([5, 6, 4]);
  });
});
