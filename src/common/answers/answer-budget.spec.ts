import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DomainError } from '../domain-error.js';
import { AnswerBudget, type AnswerHolder } from './answer-budget.js';

const TOTAL = 1000;

function of(organization: string, callerId = 'key'): AnswerHolder {
  return { organization: { id: organization, slug: organization }, callerId };
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
