import { describe, expect, it } from '@jest/globals';
import { SessionLogs } from './session-messages.js';

/** What each of two calls in a session gets of a message. */
function heardIn(logs: SessionLogs): object[][] {
  const calls: object[][] = [[], []];
  for (const heard of calls) logs.passTo((params) => void heard.push(params));
  logs.logged({ level: 'info' });
  return calls;
}

describe('log messages of an upstream', () => {
  it('go to the oldest call of the only caller', () => {
    expect(heardIn(new SessionLogs(true))).toEqual([[{ level: 'info' }], []]);
  });

  it('go to no call in a session that callers share', () => {
    expect(heardIn(new SessionLogs(false))).toEqual([[], []]);
  });
});
