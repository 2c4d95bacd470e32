import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PeriodicTask, type PeriodicTaskOptions } from './periodic-task.js';

const PAUSE_MS = 100;

describe('PeriodicTask', () => {
  const onError = jest.fn();
  const pass = (milliseconds: number): Promise<void> => jest.advanceTimersByTimeAsync(milliseconds);
  const taskOf = (work: () => Promise<unknown>, options: Partial<PeriodicTaskOptions> = {}): PeriodicTask =>
    new PeriodicTask(work, { pauseMs: PAUSE_MS, onError, ...options });

  beforeEach(() => {
    onError.mockClear();
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('takes a turn after each pause, however often it was started', async () => {
    const work = jest.fn(async () => undefined);
    const task = taskOf(work);
    task.start();
    task.start();
    await pass(PAUSE_MS - 1);
    expect(work).not.toHaveBeenCalled();
    await pass(1);
    expect(work).toHaveBeenCalledTimes(1);
    await pass(2 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('takes one turn at a time', async () => {
    const turn = Promise.withResolvers<void>();
    const work = jest.fn(() => turn.promise);
    const task = taskOf(work);
    task.start();
    await pass(10 * PAUSE_MS);
    task.start();
    await pass(10 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(1);
    turn.resolve();
    await pass(PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('continues after a failure, and reports the first of several', async () => {
    const outcomes = ['fails', 'fails', 'works', 'fails'];
    const task = taskOf(async () => {
      if (outcomes.shift() === 'fails') throw new Error('away');
    });
    task.start();
    for (const reports of [1, 1, 1, 2]) {
      await pass(PAUSE_MS);
      expect(onError).toHaveBeenCalledTimes(reports);
    }
  });

  it('aborts the turn in progress, stops after it, and does not report its error', async () => {
    const turn = Promise.withResolvers<void>();
    const work = jest.fn((signal?: AbortSignal) => {
      signal?.addEventListener('abort', () => setTimeout(() => turn.reject(new Error('aborted')), PAUSE_MS));
      return turn.promise;
    });
    const task = taskOf(work);
    task.start();
    await pass(PAUSE_MS);
    const isStopped = jest.fn();
    const stopped = task.stop().then(isStopped);
    await pass(PAUSE_MS - 1);
    expect(isStopped).not.toHaveBeenCalled();
    await pass(1);
    await stopped;
    task.start();
    await pass(10 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(1);
    expect(onError).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('runs no turn while it is not needed', async () => {
    let isNeeded = false;
    const work = jest.fn(async () => undefined);
    const task = taskOf(work, { isNeeded: () => isNeeded });
    task.start();
    await pass(10 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(1);
    isNeeded = true;
    task.start();
    await pass(3 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(4);
  });

  it('spreads its turns by a quarter of the pause', async () => {
    const random = jest.spyOn(Math, 'random');
    const work = jest.fn(async () => undefined);
    const task = taskOf(work, { isSpread: true });
    random.mockReturnValueOnce(0).mockReturnValueOnce(1);
    task.start();
    await pass(0.75 * PAUSE_MS);
    expect(work).toHaveBeenCalledTimes(1);
    await pass(1.25 * PAUSE_MS - 1);
    expect(work).toHaveBeenCalledTimes(1);
    await pass(1);
    expect(work).toHaveBeenCalledTimes(2);
    random.mockRestore();
  });
});
