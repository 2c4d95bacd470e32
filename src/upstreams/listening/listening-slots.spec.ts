import { describe, expect, it } from '@jest/globals';
import { ListeningSlots } from './listening-slots.js';

describe('ListeningSlots', () => {
  it('leaves each origin its share, and gives a place away again', () => {
    const slots = new ListeningSlots({ perOrigin: 2, inAll: 3 });
    const leave = slots.take('a');
    expect(slots.take('a')).toBeDefined();
    expect(slots.take('a')).toBeUndefined();
    expect(slots.take('b')).toBeDefined();
    expect(slots.take('c')).toBeUndefined();
    leave?.();
    expect(slots.take('c')).toBeDefined();
    expect(slots.take('a')).toBeUndefined();
  });
});
