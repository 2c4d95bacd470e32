import { Module } from '@nestjs/common';
import { RetentionRepository } from './retention.repository.js';

/** Deletes what organizations no longer keep. */
@Module({ providers: [RetentionRepository] })
export class RetentionModule {}
