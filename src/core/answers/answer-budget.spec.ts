import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DomainError } from '../domain-error.js';
import { AnswerBudget, type AnswerHolder } from './answer-budget.js';

const TOTAL = 1000;

function of(organization: string, callerId = 'key'): AnswerHolder {
  return { organization: { id: organization }, callerId };
}

/** Takes memory until it is refused; returns how much was granted. */
function takeAll(budget: AnswerBudget, holder: AnswerHolder, bytes: number): number {
  const answer = budget.openAnswer(holder);
  let granted = 0;
  try {
    for (;;) {
      answer.reserve(bytes);
      granted += bytes;
    }
  } catch {
    return granted;
  }
}

describe('the budget of answers in flight', () => {
  it('refuses a reservation that exceeds it, with Retry-After', () => {
    const budget = new AnswerBudget(TOTAL);
    takeAll(budget, of('a'), 1);
    const refused = (): void => budget.openAnswer(of('a')).reserve(1);
    expect(refused).toThrow(DomainError);
    expect(refused).toThrow(
      expect.objectContaining({ code: 'answer_memory_exhausted', status: 503, headers: { 'retry-after': '1' } }),
    );
  });

  it('grants an organization half of what the others leave', () => {
    const budget = new AnswerBudget(TOTAL);
    const keys = Array.from({ length: 20 }, (_, n) => `key ${n}`);
    const all = (name: string): number => keys.reduce((sum, key) => sum + takeAll(budget, of(name, key), 1), 0);
    expect(['a', 'b', 'c', 'd'].map(all)).toEqual([499, 250, 125, 62]);
  });

  it('grants a caller three quarters of what the others of its organization leave', () => {
    const budget = new AnswerBudget(TOTAL);
    const holders = [of('a', 'x'), of('a', 'y'), of('a', 'z'), of('b', 'x'), undefined];
    expect(holders.map((holder) => takeAll(budget, holder, 1))).toEqual([375, 93, 24, 190, 119]);
  });

  it('releases all memory exactly once, whatever the outcome of the answer', () => {
    const budget = new AnswerBudget(TOTAL);
    const answer = budget.openAnswer(of('a'));
    answer.reserve(180);
    answer.reserve(180);
    answer.reserve(0);
    expect(() => answer.reserve(180)).toThrow(DomainError);
    expect(budget.heldBytes).toBe(360);
    answer.release();
    answer.release();
    expect(budget.heldBytes).toBe(0);
    answer.reserve(180);
    expect(budget.heldBytes).toBe(0);
  });

  it('grants a request above every share, next to small answers', () => {
    const budget = new AnswerBudget(TOTAL);
    budget.openAnswer(of('b')).reserve(100);
    const giants = [of('a'), of('a'), of('a', 'other')].map((holder) => budget.openAnswer(holder));
    giants[0]?.reserve(10 * TOTAL);
    expect(() => giants[1]?.reserve(10 * TOTAL)).toThrow(DomainError);
    giants[0]?.release();
    giants[2]?.reserve(10 * TOTAL);
    expect(budget.heldBytes).toBe(350);
  });

  describe('of which a response waits for its part', () => {
    const MEGABYTES = 64 * 1024 * 1024;
    /** The largest part, of which a caller can hold one at a time. */
    const PART = MEGABYTES / 4;

    it('grants it in order as others release theirs', async () => {
      const budget = new AnswerBudget(MEGABYTES);
      const answers = Array.from({ length: 5 }, () => budget.openAnswer(of('a')));
      const granted: number[] = [];
      const waiting = answers.map((answer, n) => answer.reserveInTurn(PART).then(() => granted.push(n)));
      for (const [n, answer] of answers.entries()) {
        await waiting[n];
        expect(granted).toEqual(Array.from({ length: n + 1 }, (_, at) => at));
        expect(budget.heldBytes).toBe(PART);
        answer.release();
      }
      expect(budget.heldBytes).toBe(0);
    });

    it('lets another caller pass, and refuses more than may wait', async () => {
      const budget = new AnswerBudget(MEGABYTES);
      const first = budget.openAnswer(of('a'));
      await first.reserveInTurn(PART);
      // A quarter of the budget at 128 KiB each is 128, of which an organization can have half.
      const answers = Array.from({ length: 64 }, () => budget.openAnswer(of('a')));
      const waiting = answers.map((answer) => answer.reserveInTurn(PART));
      await expect(budget.openAnswer(of('a')).reserveInTurn(PART)).rejects.toMatchObject({
        code: 'answer_memory_exhausted',
      });
      const other = budget.openAnswer(of('b'));
      await other.reserveInTurn(1);
      expect(budget.heldBytes).toBe(PART + 1);
      other.release();
      first.release();
      for (const [n, answer] of answers.entries()) {
        await waiting[n];
        answer.release();
      }
      expect(budget.heldBytes).toBe(0);
    });

    it('keeps nothing for a response that was released while it waited', async () => {
      const budget = new AnswerBudget(MEGABYTES);
      const [first, second] = [budget.openAnswer(of('a')), budget.openAnswer(of('a'))];
      await first.reserveInTurn(PART);
      const waiting = second.reserveInTurn(PART);
      second.release();
      first.release();
      await waiting;
      expect(budget.heldBytes).toBe(0);
    });
  });

  it('never holds more than its total, and is empty when all answers are released', () => {
    const step = fc.record({
      organization: fc.constantFrom('a', 'b', 'c'),
      key: fc.constantFrom('x', 'y'),
      bytes: fc.nat(600),
      keep: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const budget = new AnswerBudget(TOTAL);
        const answers = steps.map(({ organization, key, bytes, keep }) => {
          const answer = budget.openAnswer(of(organization, key));
          try {
            answer.reserve(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(DomainError);
          }
          expect(budget.heldBytes).toBeLessThanOrEqual(TOTAL);
          if (!keep) answer.release();
          return answer;
        });
        for (const answer of answers) answer.release();
        expect(budget.heldBytes).toBe(0);
      }),
    );
  });
});
