import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { endsWithin } from '../../core/with-timeout.js';
import type { ServiceQueue } from '../../platform/queue/service-queue.js';
import type { ClaimedRun, PostedRun } from './records/new-run.js';
import type { NextRun } from './records/run-finish.js';
import type { Tenant } from './records/run-turns.js';

export const RUN_QUEUE = 'runs';

/** A job requests one attempt at one run. The run's row has all other data. */
export type RunJob = NextRun;

const PATIENCE_MS = 1000;

/** What executes runs in this process. */
export interface LocalRuns {
  /** Starts an attempt if there is room; returns false otherwise, and the attempt is enqueued. */
  start(attempt: NextRun): boolean;
  /** Takes a slot for a run of the tenant that is about to be posted; undefined unless the run can start at once. */
  reserve(tenant: Tenant): ReservedSlot | undefined;
}

/** A slot that waits for its run. Exactly one of its methods is called. */
export interface ReservedSlot {
  /** The epoch with which the run starts. */
  readonly epoch: string;
  /** Executes the run. */
  execute(run: ClaimedRun): void;
  /** Gives the slot back, because the run has not started. */
  release(): void;
  /** Gives the slot back, and the run, which may have started. */
  abandon(): void;
}

/** Enqueues attempts at runs, unless this process can start them at once. */
@Injectable()
export class RunQueue {
  private readonly logger = new Logger(RunQueue.name);
  private local: LocalRuns | undefined;

  constructor(@InjectQueue(RUN_QUEUE) private readonly queue: ServiceQueue<RunJob>) {}

  /**
   * Offers every attempt to this process first. A job, its lock and its removal cost as much as a short run, and the
   * record of a run does not depend on them: a run whose process stops is found by its heartbeat, like one whose job
   * was lost.
   */
  offerTo(local: LocalRuns): void {
    this.local = local;
  }

  /**
   * Posts a run and sees that it is executed. If this process has room, the run starts in the transaction that posts
   * it.
   * @param post posts the run, and starts it if it gets an epoch (`RunPosting.postRun`)
   */
  async postAndStart(tenant: Tenant, post: (epoch?: string) => Promise<PostedRun>): Promise<PostedRun> {
    const slot = this.local?.reserve(tenant);
    const posted = await post(slot?.epoch).catch((error: unknown) => {
      if (error instanceof DomainError) slot?.release();
      else slot?.abandon();
      throw error;
    });
    if (posted.started !== undefined) slot?.execute(posted.started);
    else {
      slot?.release();
      if (posted.isHead) await this.enqueue({ runId: posted.runId, attempt: 1 });
    }
    return posted;
  }

  /**
   * Enqueues an attempt; enqueuing the same attempt twice creates one job. It does not wait for a queue that does not
   * respond: the run is stored, and the sweeper enqueues it again.
   */
  async enqueue({ runId, attempt }: NextRun): Promise<void> {
    if (this.local?.start({ runId, attempt })) return;
    const added = this.queue
      .add('attempt', { runId, attempt }, { jobId: `${runId}-${attempt}` })
      .catch((error: Error) =>
        this.logger.warn({ run_id: runId, err: error }, 'Could not enqueue a run; it will be enqueued again'),
      );
    await endsWithin(added, PATIENCE_MS);
  }
}
