import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { VaultService } from '../../../platform/vault/vault.service.js';
import { WaitingPlaces } from '../../forwarding/asked-clients/waiting-places.js';
import type { HeldCall } from './held-call.js';
import { OpenQuestions } from './open-questions.js';

const CALLER = ['o', 'caller'];
const LIMIT = 100;
const MINUTE = 60_000;
const MEGABYTE = 1024 * 1024;

/** Shows what it is given, so that a test sees that answers are sealed. */
const vault = {
  seal: (text: string, context: string) => `sealed ${context} ${text}`,
  open: (sealed: string, context: string) => sealed.slice(`sealed ${context} `.length),
} as unknown as VaultService;

let questions: OpenQuestions;
let count = 0;

beforeEach(() => {
  jest.useFakeTimers();
  // The cache takes what is set at the time 0 for something that does not expire.
  jest.advanceTimersByTime(1);
  questions = new OpenQuestions(vault, new WaitingPlaces());
});
afterEach(() => void jest.useRealTimers());

function hold(id = `q${count++}`, holder = CALLER, size = 1): { id: string; call: HeldCall; cancel: jest.Mock } {
  const cancel = jest.fn();
  const call = { cancel } as unknown as HeldCall;
  questions.hold(id, call, holder, size);
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

  it('is cancelled when the service stops', () => {
    const { cancel } = hold();
    questions.beforeApplicationShutdown();
    expect(cancel).toHaveBeenCalledTimes(1);
  });

  it('is one of a limited number of its caller, until one is answered or has waited for too long', () => {
    const held = Array.from({ length: LIMIT }, () => hold());
    expect(() => hold()).toThrow('Too many calls wait');
    hold('of another caller', ['o', 'other']);
    questions.answer(held[0]?.id ?? '', {});
    hold('one more');
    expect(() => hold()).toThrow('Too many calls wait');
    jest.advanceTimersByTime(10 * MINUTE);
    for (let n = 0; n < LIMIT; n++) hold();
  });

  it('is refused if what the clients of its organization are asked is too large', () => {
    for (let n = 0; n < 16; n++) hold(undefined, CALLER, MEGABYTE);
    expect(() => hold(undefined, CALLER, MEGABYTE)).toThrow('Too many calls wait');
    hold(undefined, ['another', 'caller'], MEGABYTE);
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
});
