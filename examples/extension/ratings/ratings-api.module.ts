import { Module } from '@nestjs/common';
import { ThreadsModule } from '../../../src/runtime/threads/threads.module.js';
import { RatingTools } from './rating.tools.js';
import { RatingsController } from './ratings.controller.js';
import { RatingsModule } from './ratings.module.js';
import { RatingsService } from './ratings.service.js';

/** Ratings for callers. */
@Module({
  imports: [RatingsModule, ThreadsModule],
  controllers: [RatingsController],
  providers: [RatingsService, RatingTools],
})
export class RatingsApiModule {}
