import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/with-timeout.js';
import type { ServiceQueue } from '../queue/service-queue.js';
import type { NextRun } from './records/run-finish.js';

export const RUN_QUEUE = 'runs';

/** A job requests one attempt at one run. The run's row has all other data. */
export type RunJob = NextRun;

const PATIENCE_MS = 1000;

/** Starts an attempt in this process if it has room; returns false otherwise, and the attempt is enqueued. */
export type LocalStart = (attempt: NextRun) => boolean;

/** Enqueues attempts at runs, unless this process can start them at once. */
@Injectable()
export class RunQueue {
  private readonly logger = new Logger(RunQueue.name);
  private startHere: LocalStart = () => false;

  constructor(@InjectQueue(RUN_QUEUE) private readonly queue: ServiceQueue<RunJob>) {}

  /**
   * Offers every attempt to this process first. A job, its lock and its removal cost as much as a short run, and the record
   * of a run does not depend on them: a run whose process stops is found by its heartbeat, like one whose job was lost.
   */
  offerTo(startHere: LocalStart): void {
    this.startHere = startHere;
  }

  /**
   * Enqueues an attempt; enqueuing the same attempt twice creates one job. It does not wait for a queue that does not
   * respond: the run is stored, and the sweeper enqueues it again.
   */
  async enqueue({ runId, attempt }: NextRun): Promise<void> {
    if (this.startHere({ runId, attempt })) return;
    const added = this.queue
      .add('attempt', { runId, attempt }, { jobId: `${runId}-${attempt}` })
      .catch((error: Error) =>
        this.logger.warn({ run_id: runId, err: error }, 'Could not enqueue a run; it will be enqueued again'),
      );
    await endsWithin(added, PATIENCE_MS);
  }
}
