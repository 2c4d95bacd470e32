import { describe, expect, it } from '@jest/globals';
import { RestartBackoff } from './stdio-processes.js';

describe('RestartBackoff', () => {
  let now = 1_000;
  const start = (): RestartBackoff => new RestartBackoff(() => now);
  const waits = (backoff: RestartBackoff, times: number): number[] =>
    Array.from({ length: times }, () => {
      backoff.failed('a', 0);
      return backoff.waitMs('a');
    });

  it('doubles the delay after each failure, up to a limit', () => {
    expect(waits(start(), 10)).toEqual([0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('counts each program separately, and reduces the delay over time', () => {
    const backoff = start();
    waits(backoff, 3);
    expect(backoff.waitMs('b')).toBe(0);
    now += 600;
    expect(backoff.waitMs('a')).toBe(400);
    now += 600;
    expect(backoff.waitMs('a')).toBe(0);
  });

  it('resets after a long run, and after a requested stop', () => {
    const backoff = start();
    waits(backoff, 5);
    backoff.failed('a', 60_000);
    expect(backoff.waitMs('a')).toBe(0);
    waits(backoff, 5);
    backoff.succeeded('a');
    expect(waits(backoff, 1)).toEqual([0]);
  });

  it('forgives only the last failure', () => {
    const backoff = start();
    waits(backoff, 3);
    backoff.forgive('a');
    expect(backoff.waitMs('a')).toBe(0);
    expect(waits(backoff, 1)).toEqual([1_000]);
  });

  it('forgets only the program that was asked for longest ago when there are too many', () => {
    const backoff = start();
    for (const key of ['unused', 'in use']) {
      backoff.failed(key, 0);
      backoff.failed(key, 0);
    }
    for (let i = 2; i < 10_000; i++) backoff.failed(`failing ${i}`, 0);
    expect(backoff.waitMs('in use')).toBe(500);
    backoff.failed('one too many', 0);
    expect([backoff.waitMs('in use'), backoff.waitMs('unused')]).toEqual([500, 0]);
  });
});
