import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/with-timeout.js';
import type { ServiceQueue } from '../queue/service-queue.js';
import type { NextRun } from './records/run-finish.js';

export const RUN_QUEUE = 'runs';

/** A job asks for one attempt at one run. The run's row says everything else. */
export type RunJob = NextRun;

const PATIENCE_MS = 1000;

/** Asks the workers for attempts at runs. */
@Injectable()
export class RunQueue {
  private readonly logger = new Logger(RunQueue.name);

  constructor(@InjectQueue(RUN_QUEUE) private readonly queue: ServiceQueue<RunJob>) {}

  /**
   * Enqueues an attempt; the same attempt twice is one job. A queue that does not answer is not waited for: the run is
   * stored, and the sweeper asks again.
   */
  async ask({ runId, attempt }: NextRun): Promise<void> {
    const added = this.queue
      .add('attempt', { runId, attempt }, { jobId: `${runId}-${attempt}` })
      .catch((error: Error) =>
        this.logger.warn({ run_id: runId, err: error }, 'A run could not be enqueued; it will be asked for again'),
      );
    await endsWithin(added, PATIENCE_MS);
  }
}
