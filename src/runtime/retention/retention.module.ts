import { Module } from '@nestjs/common';
import { RetentionRepository } from './retention.repository.js';
import { RetentionSweeper } from './retention-sweeper.js';

/** Deletes what organizations no longer keep. */
@Module({ providers: [RetentionRepository, RetentionSweeper] })
export class RetentionModule {}
