import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Connection } from '../../../connections/connection.js';
import type { OpenConnections } from '../../../connections/open-connections.js';
import type { Principal } from '../../../core/principal.js';
import type { OpenCredentials } from '../../../identity/credentials/open-credentials.js';
import type { VaultService } from '../../../platform/vault/vault.service.js';
import { WaitingPlaces } from '../../forwarding/asked-clients/open-requests.js';
import type { HeldCall } from './held-call.js';
import { OpenQuestions } from './open-questions.js';

const CALLER = { organization: 'o', key: 'caller' };
const LIMIT = 100;
const MINUTE = 60_000;
const MEGABYTE = 1024 * 1024;

/** Shows what it is given, so that a test sees that answers are sealed. */
const vault = {
  seal: (text: string, context: string) => `sealed ${context} ${text}`,
  open: (sealed: string, context: string) => sealed.slice(`sealed ${context} `.length),
} as unknown as VaultService;

/** The callbacks for the end of the connection or the credential of a call. */
let ends: Record<'connection' | 'credential', Set<() => void>>;
let questions: OpenQuestions;
let count = 0;

beforeEach(() => {
  jest.useFakeTimers();
  // The cache takes what is set at the time 0 for something that does not expire.
  jest.advanceTimersByTime(1);
  ends = { connection: new Set(), credential: new Set() };
  const watch = (what: keyof typeof ends) => (_watched: unknown, onEnd: () => void) => {
    ends[what].add(onEnd);
    return () => void ends[what].delete(onEnd);
  };
  const connections = { watchConnection: watch('connection') } as unknown as OpenConnections;
  const credentials = { watchValidity: watch('credential') } as unknown as OpenCredentials;
  questions = new OpenQuestions(vault, new WaitingPlaces(), connections, credentials);
});
afterEach(() => void jest.useRealTimers());

function hold(id = `q${count++}`, caller = CALLER, size = 1): { id: string; call: HeldCall; cancel: jest.Mock } {
  const cancel = jest.fn();
  const call = { cancel } as unknown as HeldCall;
  const { organization: organizationId, key } = caller;
  const connection = { id: 'c', revision: 1, organizationId } as Connection;
  questions.hold(id, call, { connection, key, principal: {} as Principal }, size);
  return { id, call, cancel };
}

describe('a call that waits for its client', () => {
  it('is returned to the answers, once', () => {
    const { id, call, cancel } = hold();
    expect(questions.answer(id, { a: 1 })).toBe(call);
    expect(() => questions.answer(id, { a: 1 })).toThrow('was used before');
    jest.advanceTimersByTime(11 * MINUTE);
    expect(cancel).not.toHaveBeenCalled();
  });

  it('is cancelled after ten minutes', () => {
    const { id, cancel } = hold();
    jest.advanceTimersByTime(10 * MINUTE - 1);
    expect(cancel).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(cancel).toHaveBeenCalledTimes(1);
    expect(() => questions.answer(id, {})).toThrow('has ended');
  });

  it.each(['connection', 'credential'] as const)('is cancelled with its %s, and watches it no longer', (what) => {
    const held = Array.from({ length: LIMIT }, () => hold());
    for (const end of ends[what]) end();
    for (const { id, cancel } of held) {
      expect(cancel).toHaveBeenCalledTimes(1);
      expect(() => questions.answer(id, {})).toThrow('has ended');
    }
    expect([ends.connection.size, ends.credential.size]).toEqual([0, 0]);
    const { id } = hold();
    questions.answer(id, {});
    expect([ends.connection.size, ends.credential.size]).toEqual([0, 0]);
  });

  it('is cancelled when the service stops', () => {
    const { cancel } = hold();
    questions.beforeApplicationShutdown();
    expect(cancel).toHaveBeenCalledTimes(1);
  });

  it('is one of a limited number of its caller, until one is answered or has waited for too long', () => {
    const held = Array.from({ length: LIMIT }, () => hold());
    expect(() => hold()).toThrow('Too many calls wait');
    hold('of another caller', { organization: 'o', key: 'other' });
    questions.answer(held[0]?.id ?? '', {});
    hold('one more');
    expect(() => hold()).toThrow('Too many calls wait');
    jest.advanceTimersByTime(10 * MINUTE);
    for (let n = 0; n < LIMIT; n++) hold();
  });

  it('is one of a hundred out of a thousand of a caller, which leave room for others and give it back', () => {
    const other = { organization: 'o', key: 'other' };
    for (let round = 0; round < 2; round++) {
      const held: string[] = [];
      for (let n = 0; n < 1_000; n++) {
        try {
          held.push(hold(undefined, CALLER, 100_000).id);
        } catch (error) {
          expect(error).toMatchObject({ kind: 'busy' });
        }
      }
      expect(held).toHaveLength(LIMIT);
      questions.answer(hold(undefined, other, 100_000).id, {});
      for (const id of held) questions.answer(id, {});
    }
  });

  it('is refused if what the clients of its organization are asked is too large', () => {
    for (let n = 0; n < 16; n++) hold(undefined, CALLER, MEGABYTE);
    expect(() => hold(undefined, CALLER, MEGABYTE)).toThrow('Too many calls wait');
    hold(undefined, { organization: 'another', key: 'caller' }, MEGABYTE);
  });
});

describe('an answer of a call', () => {
  const answered = (): string => {
    const { id } = hold();
    questions.answer(id, { a: 1 });
    return id;
  };

  it('is repeated for the same answers of the client, for a minute', () => {
    const id = answered();
    questions.keep(id, 'result');
    expect(questions.answer(id, { a: 1 })).toBe('result');
    expect(() => questions.answer(id, { a: 2 })).toThrow('was used before');
    jest.advanceTimersByTime(MINUTE + 1);
    expect(() => questions.answer(id, { a: 1 })).toThrow('was used before');
  });

  it('is not kept if it is large', () => {
    const id = answered();
    questions.keep(id, 'x'.repeat(64 * 1024 + 1));
    expect(() => questions.answer(id, { a: 1 })).toThrow('was used before');
  });

  it('is kept whatever other callers keep, until a minute has passed', () => {
    const id = answered();
    questions.keep(id, 'result');
    const other = { organization: 'o', key: 'other' };
    const keepMuch = (): string[] =>
      Array.from({ length: 400 }, () => {
        const { id: one } = hold(undefined, other);
        questions.answer(one, {});
        questions.keep(one, 'x'.repeat(64 * 1024));
        return one;
      });
    const isKept = (one: string): boolean => {
      try {
        return typeof questions.answer(one, {}) === 'string';
      } catch {
        return false;
      }
    };
    const before = keepMuch().filter(isKept).length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(400);
    expect(questions.answer(id, { a: 1 })).toBe('result');
    jest.advanceTimersByTime(MINUTE + 1);
    expect(keepMuch().filter(isKept).length).toBeGreaterThanOrEqual(before);
  });
});
