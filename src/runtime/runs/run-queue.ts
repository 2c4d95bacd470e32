import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { endsWithin } from '../../core/with-timeout.js';
import type { ServiceQueue } from '../../platform/queue/service-queue.js';
import type { ClaimedRun, PostedRun } from './records/new-run.js';
import type { Tenant } from './records/run-turns.js';

export const RUN_QUEUE = 'runs';

const PATIENCE_MS = 1000;

/** What executes runs in this process. */
export interface LocalRuns {
  /** Claims a waiting run for a free slot; returns false if there is none, and another worker is woken. */
  wake(): boolean;
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

/**
 * Wakes workers for runs that wait in the database. A wake-up has no content: the worker claims the run whose turn it
 * is. A lost wake-up delays a run until a worker with a free slot looks for waiting runs.
 */
@Injectable()
export class RunQueue {
  private readonly logger = new Logger(RunQueue.name);
  private local: LocalRuns | undefined;

  constructor(@InjectQueue(RUN_QUEUE) private readonly queue: ServiceQueue) {}

  /** Wakes this process first: a job, its lock and its removal cost as much as a short run. */
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
      if (posted.isHead) await this.wakeWorker();
    }
    return posted;
  }

  /** Wakes a worker for a run that can start. Does not wait for a queue that does not respond. */
  async wakeWorker(): Promise<void> {
    if (this.local?.wake()) return;
    const added = this.queue
      .add('wake-up', {})
      .catch((error: Error) => this.logger.warn({ err: error }, 'Could not wake a worker; a run starts later'));
    await endsWithin(added, PATIENCE_MS);
  }
}
