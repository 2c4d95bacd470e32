import { Module } from '@nestjs/common';
import { AnswerBudget } from './answer-budget.js';

/** The answer budget of the process, shared by every module that reads much data into a response. */
@Module({
  providers: [{ provide: AnswerBudget, useFactory: () => new AnswerBudget() }],
  exports: [AnswerBudget],
})
export class AnswerBudgetModule {}
