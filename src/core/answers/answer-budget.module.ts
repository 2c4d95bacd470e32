import { type DynamicModule, Module } from '@nestjs/common';
import { AnswerBudget } from './answer-budget.js';
import { AnswerRooms } from './answer-room.js';

/** The answer budget of the process, injectable by every module that reads much data into a response. */
@Module({})
export class AnswerBudgetModule {
  /** @param bytes the whole budget; by default an eighth of the heap */
  static forRoot(bytes: number | undefined): DynamicModule {
    return {
      module: AnswerBudgetModule,
      global: true,
      providers: [{ provide: AnswerBudget, useFactory: () => new AnswerBudget(bytes) }, AnswerRooms],
      exports: [AnswerBudget, AnswerRooms],
    };
  }
}
