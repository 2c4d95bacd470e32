import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { endsWithin, unlessAborted, withTimeout } from './with-timeout.js';

const NEVER = new Promise<never>(() => undefined);
const failing = (): Promise<never> => Promise.reject(new Error('failed'));

describe('withTimeout', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('passes on the outcome of the work, and leaves no timer', async () => {
    const onTimeout = jest.fn(() => 'late');
    expect(await withTimeout(Promise.resolve('done'), 100, onTimeout)).toBe('done');
    await expect(withTimeout(failing(), 100, onTimeout)).rejects.toThrow('failed');
    expect(jest.getTimerCount()).toBe(0);
    expect(onTimeout).not.toHaveBeenCalled();
  });

  it('returns the fallback only when the work exceeds its time limit', async () => {
    const settled = jest.fn();
    const result = withTimeout(NEVER, 100, () => 'late').finally(settled);
    await jest.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(await result).toBe('late');
  });

  it('throws the error of the caller', async () => {
    const result = withTimeout(NEVER, 100, () => {
      throw new RangeError('too late');
    });
    const outcome = expect(result).rejects.toThrow(RangeError);
    await jest.advanceTimersByTimeAsync(100);
    await outcome;
  });

  it('ignores a failure of the work after its time', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    const work = Promise.withResolvers<never>();
    const result = withTimeout(work.promise, 100, () => 'late');
    await jest.advanceTimersByTimeAsync(100);
    jest.useRealTimers();
    work.reject(new Error('failed'));
    await sleep(0);
    process.off('unhandledRejection', unhandled);
    expect(await result).toBe('late');
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('keeps the process alive only on request', () => {
    jest.useRealTimers();
    const held = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = held();
    void withTimeout(NEVER, 50, () => undefined, { ref: false });
    expect(held()).toBe(before);
    void withTimeout(NEVER, 50, () => undefined);
    expect(held()).toBe(before + 1);
  });
});

describe('endsWithin', () => {
  it('reports whether the work settled', async () => {
    expect(await endsWithin(Promise.resolve(), 1_000)).toBe(true);
    expect(await endsWithin(failing(), 1_000)).toBe(true);
    expect(await endsWithin(NEVER, 1)).toBe(false);
  });
});

describe('unlessAborted', () => {
  it('passes on the outcome of the work, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve('done'), signal)).toBe('done');
    await expect(unlessAborted(failing(), signal)).rejects.toThrow('failed');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason of a signal that aborts, or has', async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(NEVER, controller.signal);
    controller.abort('cancelled');
    await expect(waiting).rejects.toBe('cancelled');
    await expect(unlessAborted(NEVER, controller.signal)).rejects.toBe('cancelled');
  });
});
