import { describe, expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.js';

describe('FairQueue', () => {
  const drain = (queue: FairQueue<string>): string[] => {
    const taken: string[] = [];
    for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
    return taken;
  };

  it('alternates between owners, each in its own order', () => {
    const queue = new FairQueue<string>({ total: 10, perOwner: 10 });
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.charAt(0), item);
    expect(queue.take()).toBe('a1');
    queue.add('d', 'd1');
    expect(drain(queue)).toEqual(['b1', 'c1', 'a2', 'd1', 'b2', 'a3']);
    expect(queue.take()).toBeUndefined();
  });

  it('limits the items of one owner and in total', () => {
    const queue = new FairQueue<string>({ total: 3, perOwner: 2 });
    expect(['a1', 'a2', 'a3', 'b1', 'b2'].map((item) => queue.add(item.charAt(0), item))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(drain(queue)).toEqual(['a1', 'b1', 'a2']);
    expect(queue.add('a', 'a4')).toBe(true);
  });
});
