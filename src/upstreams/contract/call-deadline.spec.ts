import { describe, expect, it } from '@jest/globals';
import { CallDeadline } from './call-deadline.js';

const never = new Promise<never>(() => undefined);

describe('CallDeadline', () => {
  it('ends with its deadline', async () => {
    const scope = new CallDeadline(undefined, 5);
    await expect(scope.wait(() => never)).rejects.toBe('timeout');
    expect(scope.stopped).toBe('timeout');
    expect(scope.signal.aborted).toBe(true);
  });

  it('ends with its caller, whose reason stays here', async () => {
    const caller = new AbortController();
    const scope = new CallDeadline(caller.signal, 60_000);
    const waiting = scope.wait(() => never);
    caller.abort(new Error('internal detail'));
    await expect(waiting).rejects.toBe('cancelled');
    expect(scope.signal.reason).toBe('cancelled');
  });

  it('starts nothing for a caller who has given up already', async () => {
    const scope = new CallDeadline(AbortSignal.abort(), 60_000);
    let started = false;
    const start = async (): Promise<void> => {
      started = true;
    };
    await expect(scope.wait(start)).rejects.toBe('cancelled');
    expect(started).toBe(false);
  });

  it('hands on a result, and no longer listens once it is over', async () => {
    const caller = new AbortController();
    const scope = new CallDeadline(caller.signal, 60_000);
    await expect(scope.wait(async () => 7)).resolves.toBe(7);
    scope.end();
    caller.abort();
    expect(scope.stopped).toBeUndefined();
  });

  it('calls back when it is stopped, once, and at once who asks later', () => {
    const scope = new CallDeadline(undefined, 60_000);
    const called: string[] = [];
    scope.onStop(() => called.push('first'));
    scope.cancel();
    scope.cancel();
    scope.onStop(() => called.push('late'));
    expect(called).toEqual(['first', 'late']);
  });

  it('calls nobody back, and holds on to nobody, once it is over', () => {
    const scope = new CallDeadline(undefined, 60_000);
    const called: string[] = [];
    scope.onStop(() => called.push('too late'));
    scope.end();
    scope.cancel();
    expect(called).toEqual([]);
  });
});
