import { describe, expect, it, jest } from '@jest/globals';
import { retry } from './retry.js';

/** Fails with these errors one after the other, then succeeds. */
function callThatFails(...errors: Error[]) {
  return jest.fn(async (): Promise<string> => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return 'done';
  });
}

const away = (): Error => new Error('away');
const isRetryable = (error: unknown): boolean => error instanceof Error && error.message === 'away';

describe('retry', () => {
  it('repeats a call until it succeeds', async () => {
    const call = callThatFails(away(), away(), away());
    expect(await retry(call, { isRetryable })).toBe('done');
    expect(call).toHaveBeenCalledTimes(4);
  });

  it('throws an error that is not retryable at once', async () => {
    const call = callThatFails(away(), new Error('refused'), away());
    await expect(retry(call, { isRetryable })).rejects.toThrow('refused');
    expect(call).toHaveBeenCalledTimes(2);
  });

  it('throws the last error when its time is up, after growing pauses', async () => {
    const begun = performance.now();
    const call = jest.fn(() => Promise.reject(away()));
    await expect(retry(call, { isRetryable, giveUpAfterMs: 300 })).rejects.toThrow('away');
    expect(performance.now() - begun).toBeGreaterThanOrEqual(300);
    // Pauses that stay at 25 ms, half of it random, make 13 calls at least.
    expect(call.mock.calls.length).toBeLessThan(10);
  });

  it('ends the pause when its signal aborts, with the reason', async () => {
    const controller = new AbortController();
    const call = jest.fn(async () => {
      if (call.mock.calls.length === 3) setImmediate(() => controller.abort(new Error('stopped')));
      throw away();
    });
    await expect(retry(call, { isRetryable, signal: controller.signal })).rejects.toThrow('stopped');
    expect(call).toHaveBeenCalledTimes(3);
  });
});
