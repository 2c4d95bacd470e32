import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StreamOpening } from './upstream-listener.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('StreamOpening', () => {
  it.each([true, false])('is waited for: %s', async (isOpen) => {
    const missed = jest.fn();
    const opening = new StreamOpening(missed);
    const waiting = Promise.all([opening.isOpen(), opening.isOpen()]);
    opening.settle(isOpen);
    expect(await waiting).toEqual([isOpen, isOpen]);
    expect(await opening.isOpen()).toBe(isOpen);
    expect(missed).not.toHaveBeenCalled();
  });

  it('counts as open after a second, and reports once that changes may have been missed', async () => {
    const missed = jest.fn();
    const opening = new StreamOpening(missed);
    const waiting = opening.isOpen();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await waiting).toBe(true);
    opening.settle(true);
    opening.settle(true);
    expect(missed).toHaveBeenCalledTimes(1);
  });

  it('fails for those who wait, until the stream is open', async () => {
    const opening = new StreamOpening(() => undefined);
    const waiting = opening.isOpen();
    opening.fail(new Error('No socket is free.'));
    await expect(waiting).rejects.toThrow('No socket is free.');
    opening.settle(true);
    expect(await opening.isOpen()).toBe(true);
  });
});
