import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import type { ServiceWorker } from '../../../src/platform/queue/service-queue.js';
import { ESCALATION_QUEUE, type EscalationJob } from './escalation.queue.js';
import { RatingRepository } from './rating.repository.js';

/** Reports ratings of one star. A job that runs twice reports once. */
@Processor(ESCALATION_QUEUE, { concurrency: 2 })
export class EscalationProcessor extends WorkerHost<ServiceWorker<EscalationJob>> {
  constructor(private readonly ratings: RatingRepository) {
    super();
  }

  async process({ data }: Job<EscalationJob>): Promise<void> {
    await this.ratings.markEscalated(data.ratingId);
  }
}
