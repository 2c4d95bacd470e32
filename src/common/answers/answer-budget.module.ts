import { Module } from '@nestjs/common';
import { AnswerBudget } from './answer-budget.js';

/** The one budget of the process, for every module that reads much data into an answer. */
@Module({
  providers: [{ provide: AnswerBudget, useFactory: () => new AnswerBudget() }],
  exports: [AnswerBudget],
})
export class AnswerBudgetModule {}
