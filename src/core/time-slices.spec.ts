import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { TimeSlices } from './time-slices.js';

function hold(slices: TimeSlices): void {
  while (!slices.isOver);
}

describe('TimeSlices', () => {
  it('ends after some milliseconds, and begins again', async () => {
    const slices = new TimeSlices('a');
    hold(slices);
    await slices.next();
    expect(slices.isOver).toBe(false);
  });

  it('lets one piece of work run in each turn of the event loop', async () => {
    const perTurn: number[] = [];
    let ran = 0;
    const work = async (): Promise<void> => {
      const slices = new TimeSlices('a');
      for (let slice = 0; slice < 4; slice++) {
        await slices.next();
        ran++;
        hold(slices);
      }
    };
    const all = Promise.all(Array.from({ length: 6 }, work));
    for (let turn = 0; turn < 100; turn++) {
      await nextTurn();
      perTurn.push(ran);
      ran = 0;
    }
    await all;
    expect(perTurn.reduce((sum, one) => sum + one, 0)).toBe(24);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(1);
  });

  it('lets organizations take turns, and serves the tasks of one in order', async () => {
    const order: string[] = [];
    const work = async (organizationId: string, name: string): Promise<void> => {
      const slices = new TimeSlices(organizationId);
      for (let slice = 0; slice < 2; slice++) {
        await slices.next();
        order.push(name);
      }
    };
    const many = Array.from({ length: 4 }, (_, n) => work('a', `a${n}`));
    await Promise.all([...many, work('b', 'b0'), work('c', 'c0')]);
    expect(order).toEqual(['a0', 'b0', 'c0', 'a1', 'b0', 'c0', 'a2', 'a3', 'a0', 'a1', 'a2', 'a3']);
  });
});
