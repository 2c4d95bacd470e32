import { describe, expect, it } from '@jest/globals';
import { FloodGuard, MAX_BYTES, MAX_EVENTS } from './notification-stream.js';

describe('FloodGuard', () => {
  it('allows a stream within the limits, however long it is', () => {
    const guard = new FloodGuard();
    for (let second = 0; second < 10_000; second++) expect(guard.allows(1000, second * 1000)).toBe(true);
  });

  it('rejects too many events', () => {
    const guard = new FloodGuard();
    for (let event = 0; event < MAX_EVENTS; event++) expect(guard.allows(1, 0)).toBe(true);
    expect(guard.allows(1, 9_999)).toBe(false);
  });

  it('rejects too many bytes', () => {
    const guard = new FloodGuard();
    expect(guard.allows(MAX_BYTES, 0)).toBe(true);
    expect(guard.allows(1, 0)).toBe(false);
  });
});
