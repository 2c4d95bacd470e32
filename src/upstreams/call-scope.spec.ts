import { describe, expect, it } from '@jest/globals';
import { CallScope } from './call-scope.js';

const never = new Promise<never>(() => undefined);

describe('CallScope', () => {
  it('ends with its deadline', async () => {
    const scope = new CallScope(undefined, 5);
    await expect(scope.wait(() => never)).rejects.toBe('timeout');
    expect(scope.stopped).toBe('timeout');
    expect(scope.signal.aborted).toBe(true);
  });

  it('ends with its caller, whose reason stays here', async () => {
    const caller = new AbortController();
    const scope = new CallScope(caller.signal, 60_000);
    const waiting = scope.wait(() => never);
    caller.abort(new Error('internal detail'));
    await expect(waiting).rejects.toBe('cancelled');
    expect(scope.signal.reason).toBe('cancelled');
  });

  it('starts nothing for a caller who has given up already', async () => {
    const scope = new CallScope(AbortSignal.abort(), 60_000);
    let started = false;
    const start = async (): Promise<void> => {
      started = true;
    };
    await expect(scope.wait(start)).rejects.toBe('cancelled');
    expect(started).toBe(false);
  });

  it('hands on a result, and no longer listens once it is over', async () => {
    const caller = new AbortController();
    const scope = new CallScope(caller.signal, 60_000);
    await expect(scope.wait(async () => 7)).resolves.toBe(7);
    scope.end();
    caller.abort();
    expect(scope.stopped).toBeUndefined();
  });
});
