import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MigrationsModule } from '../../../src/platform/database/migrations.module.js';
import { QueueModule } from '../../../src/platform/queue/queue.module.js';
import { Ratings1764000000000 } from './1764000000000-ratings.js';
import { ESCALATION_QUEUE } from './escalation.queue.js';
import { RatingEntity } from './rating.entity.js';
import { RatingRepository } from './rating.repository.js';

/** The ratings themselves, for every role: their table and their queue. */
@Module({
  imports: [
    TypeOrmModule.forFeature([RatingEntity]),
    MigrationsModule.forFeature([Ratings1764000000000]),
    QueueModule,
    BullModule.registerQueue({ name: ESCALATION_QUEUE }),
  ],
  providers: [RatingRepository],
  exports: [RatingRepository, BullModule],
})
export class RatingsModule {}
