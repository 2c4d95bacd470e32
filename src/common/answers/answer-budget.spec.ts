import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DomainError } from '../domain-error.js';
import { AnswerBudget } from './answer-budget.js';

const TOTAL = 1000;

/** Takes memory until it is refused; returns how much was granted. */
function takeAll(budget: AnswerBudget, organization: string, bytes: number): number {
  const answer = budget.open(organization);
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
  it('refuses what exceeds it, with a time to come back', () => {
    const budget = new AnswerBudget(TOTAL);
    takeAll(budget, 'a', 100);
    const refused = (): void => budget.open('a').reserve(1);
    expect(refused).toThrow(DomainError);
    expect(refused).toThrow(
      expect.objectContaining({ code: 'answer_memory_exhausted', status: 503, headers: { 'retry-after': '1' } }),
    );
  });

  it('grants an organization half of what the others leave', () => {
    const budget = new AnswerBudget(TOTAL);
    expect(['a', 'b', 'c', 'd'].map((name) => takeAll(budget, name, 1))).toEqual([500, 250, 125, 62]);
  });

  it('gives everything back once, whatever became of the answer', () => {
    const budget = new AnswerBudget(TOTAL);
    const answer = budget.open('a');
    answer.reserve(200);
    answer.reserve(200);
    expect(() => answer.reserve(200)).toThrow(DomainError);
    expect(budget.heldBytes).toBe(400);
    answer.release();
    answer.release();
    expect(budget.heldBytes).toBe(0);
    answer.reserve(200);
    expect(budget.heldBytes).toBe(0);
  });

  it('lets what exceeds every share through, beside small answers', () => {
    const budget = new AnswerBudget(TOTAL);
    budget.open('b').reserve(100);
    const giants = [budget.open('a'), budget.open('a'), budget.open('a')];
    giants[0]?.reserve(10 * TOTAL);
    expect(() => giants[1]?.reserve(10 * TOTAL)).toThrow(DomainError);
    giants[0]?.release();
    giants[2]?.reserve(10 * TOTAL);
    expect(budget.heldBytes).toBe(350);
  });

  it('never holds more than its total, and is empty when all answers are released', () => {
    const step = fc.record({ organization: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(600), keep: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const budget = new AnswerBudget(TOTAL);
        const answers = steps.map(({ organization, bytes, keep }) => {
          const answer = budget.open(organization);
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
