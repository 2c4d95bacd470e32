import type { AnswerBudget, AnswerHolder, HeldAnswer } from '../../core/answers/answer-budget.js';

/** Does work whose memory is not part of a response: it is released when the work has ended. */
export async function withAnswer<T>(
  budget: AnswerBudget,
  holder: AnswerHolder,
  work: (answer: HeldAnswer) => Promise<T>,
): Promise<T> {
  const answer = budget.openAnswer(holder);
  try {
    return await work(answer);
  } finally {
    answer.release();
  }
}
