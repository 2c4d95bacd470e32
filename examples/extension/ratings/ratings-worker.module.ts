import { Module } from '@nestjs/common';
import { EscalationProcessor } from './escalation.processor.js';
import { RatingsModule } from './ratings.module.js';

/** What a worker does for ratings. */
@Module({ imports: [RatingsModule], providers: [EscalationProcessor] })
export class RatingsWorkerModule {}
