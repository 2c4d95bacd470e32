import { describe, expect, it } from '@jest/globals';
import { decodeNotice, encodeNotice, type RunNotice } from './run-events.js';

describe('a notice', () => {
  it.each<RunNotice>([
    { type: 'cancel', runId: 'run' },
    { type: 'steer', runId: 'run', steerId: 'steer', interrupts: false },
    { type: 'steer', runId: 'run', steerId: 'steer', interrupts: true },
  ])('is read as it was written: %j', (notice) => {
    expect(decodeNotice(encodeNotice(notice))).toEqual(notice);
  });

  it('of a cancellation is the id of the run, as earlier versions send it', () => {
    expect(encodeNotice({ type: 'cancel', runId: 'run' })).toBe('run');
  });
});
