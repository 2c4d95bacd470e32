import { describe, expect, it } from '@jest/globals';
import { CallsInFlight } from './audit-writer.js';

describe('calls in flight', () => {
  it('are counted until they end', () => {
    const calls = new CallsInFlight();
    const entered = [0, 1, 17].map((now) => calls.enter(now));
    expect(calls.count).toBe(3);
    for (const call of entered) calls.leave(call);
    expect(calls.count).toBe(0);
  });

  it('are not counted when slow, and their late end does not reduce the count', () => {
    const calls = new CallsInFlight();
    const slow = calls.enter(0);
    calls.enter(40);
    expect(calls.count).toBe(1);
    calls.leave(slow);
    expect(calls.count).toBe(1);
  });

  it('never become negative when the clock steps back', () => {
    const calls = new CallsInFlight();
    const before = [calls.enter(100), calls.enter(100)];
    calls.enter(0);
    for (const call of before) calls.leave(call);
    expect(calls.count).toBe(1);
  });
});
