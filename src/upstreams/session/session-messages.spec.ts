import { describe, expect, it } from '@jest/globals';
import { SessionLogs, SessionRequests } from './session-messages.js';
import type { RequestReceiver } from '../contract/upstream-request.js';

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

const REQUEST = { method: 'roots/list', params: undefined };

/** A call whose client answers with this. */
function callOf(answer: object | undefined, isWaitedFor = true): RequestReceiver {
  return { isWaitedFor, receiveRequest: async () => answer };
}

describe('requests of an upstream', () => {
  it('go to the oldest call that is waited for, while it lasts', async () => {
    const requests = new SessionRequests(true);
    const stops = [callOf({ of: 1 }, false), callOf({ of: 2 }), callOf({ of: 3 })].map((call) => requests.passTo(call));
    expect(await requests.answer(REQUEST)).toEqual({ of: 2 });
    stops[1]?.();
    expect(await requests.answer(REQUEST)).toEqual({ of: 3 });
    stops[2]?.();
    expect(await requests.answer(REQUEST)).toEqual({ of: 1 });
    stops[0]?.();
    await expect(requests.answer(REQUEST)).rejects.toThrow();
  });

  it('go on to the next call if one has ended meanwhile', async () => {
    const requests = new SessionRequests(true);
    for (const call of [callOf(undefined), callOf({ of: 2 })]) requests.passTo(call);
    expect(await requests.answer(REQUEST)).toEqual({ of: 2 });
  });

  it('go to no call in a session that callers share', async () => {
    const requests = new SessionRequests(false);
    requests.passTo(callOf({ of: 1 }));
    await expect(requests.answer(REQUEST)).rejects.toThrow();
  });
});
