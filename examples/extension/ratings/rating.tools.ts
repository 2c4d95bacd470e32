import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../../src/core/answers/answer-budget.js';
import { CREATES, ManagementTool, READ_ONLY } from '../../../src/core/tools/management-tool.js';
import { ListInput } from '../../../src/core/paging/list-input.js';
import type { Principal } from '../../../src/core/principal.js';
import { RatingCreateInput, RatingOutput, RatingPage } from './rating.dto.js';
import { RatingsService } from './ratings.service.js';

@Injectable()
export class RatingTools {
  constructor(private readonly ratings: RatingsService) {}

  @ManagementTool({
    name: 'RATING_CREATE',
    description: 'Rates a thread with one to five stars.',
    input: RatingCreateInput,
    output: RatingOutput,
    annotations: CREATES,
  })
  async create(input: RatingCreateInput, caller: Principal): Promise<RatingOutput> {
    return { item: await this.ratings.create(input, caller) };
  }

  @ManagementTool({
    name: 'RATING_LIST',
    description: "Lists the ratings of the organization's threads, newest first unless ordered otherwise.",
    input: ListInput,
    output: RatingPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<RatingPage> {
    return this.ratings.list(input, caller, answer);
  }
}
