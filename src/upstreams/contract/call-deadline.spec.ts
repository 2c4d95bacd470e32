import { describe, expect, it, jest } from '@jest/globals';
import { CallDeadline } from './call-deadline.js';

const never = new Promise<never>(() => undefined);

describe('CallDeadline', () => {
  it('ends when its time is over', async () => {
    const deadline = new CallDeadline(undefined, 5);
    await expect(deadline.wait(() => never)).rejects.toBe('timeout');
    expect(deadline.stopped).toBe('timeout');
    expect(deadline.signal.aborted).toBe(true);
  });

  it('ends when its caller aborts, without passing on the reason', async () => {
    const caller = new AbortController();
    const deadline = new CallDeadline(caller.signal, 60_000);
    const waiting = deadline.wait(() => never);
    caller.abort(new Error('internal detail'));
    await expect(waiting).rejects.toBe('cancelled');
    expect(deadline.signal.reason).toBe('cancelled');
  });

  it('does not end while it is lifted, and ends after its whole time when it starts again', async () => {
    jest.useFakeTimers();
    const deadline = new CallDeadline(undefined, 1_000);
    jest.advanceTimersByTime(900);
    deadline.lift();
    jest.advanceTimersByTime(10_000);
    deadline.restart();
    jest.advanceTimersByTime(999);
    expect(deadline.stopped).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(deadline.stopped).toBe('timeout');
    jest.useRealTimers();
  });

  it('does not start again once it has ended', () => {
    jest.useFakeTimers();
    const deadline = new CallDeadline(undefined, 1_000);
    deadline.end();
    deadline.restart();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('does not start the work if the caller has already aborted', async () => {
    const deadline = new CallDeadline(AbortSignal.abort(), 60_000);
    let started = false;
    const start = async (): Promise<void> => {
      started = true;
    };
    await expect(deadline.wait(start)).rejects.toBe('cancelled');
    expect(started).toBe(false);
  });

  it('returns the result, and stops listening once it has ended', async () => {
    const caller = new AbortController();
    const deadline = new CallDeadline(caller.signal, 60_000);
    await expect(deadline.wait(async () => 7)).resolves.toBe(7);
    deadline.end();
    caller.abort();
    expect(deadline.stopped).toBeUndefined();
  });

  it('calls back once when it is stopped, and at once if it already is', () => {
    const deadline = new CallDeadline(undefined, 60_000);
    const called: string[] = [];
    deadline.onStop(() => called.push('first'));
    deadline.cancel();
    deadline.cancel();
    deadline.onStop(() => called.push('late'));
    expect(called).toEqual(['first', 'late']);
  });

  it('does not call back once it has ended', () => {
    const deadline = new CallDeadline(undefined, 60_000);
    const called: string[] = [];
    deadline.onStop(() => called.push('too late'));
    deadline.end();
    deadline.cancel();
    expect(called).toEqual([]);
  });
});
