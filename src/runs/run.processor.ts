import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Worker } from 'bullmq';
import { endsWithin } from '../common/ends-within.js';
import { AppConfig } from '../config/app-config.js';
import { QueueFactory } from '../queue/queue.factory.js';
import { RUN_QUEUE, type RunJob, RunQueue } from './run-queue.js';
import { RunExecutorService } from './run-executor.service.js';
import { RunSlots } from './run-slots.js';
import { RunSupervisor } from './run-supervisor.js';

/** How long a shutdown waits for runs to end by themselves before it hands them over. */
const SHUTDOWN_GRACE_MS = 8000;
const HANDOVER_MS = 2000;
/** Lost workers are found by their heartbeat in the runs' rows; BullMQ need never give up on a job by itself. */
const MAX_STALLED_COUNT = 1000;

/** The Bull processor of runs: claims, lets execute, and asks for what comes next. */
@Injectable()
export class RunProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(RunProcessor.name);
  private worker: Worker<RunJob, void> | undefined;
  private isClosing = false;

  constructor(
    private readonly config: AppConfig,
    private readonly queues: QueueFactory,
    private readonly slots: RunSlots,
    private readonly executor: RunExecutorService,
    private readonly supervisor: RunSupervisor,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    const { runConcurrency: concurrency } = this.config.settings;
    this.worker = this.queues.worker<RunJob>(RUN_QUEUE, (job) => this.process(job.data), {
      concurrency,
      maxStalledCount: MAX_STALLED_COUNT,
    });
    this.worker.on('failed', (job, error) =>
      this.logger.error({ run_id: job?.data.runId, err: error }, 'An attempt broke off; the run is taken up again'),
    );
    this.worker.run().catch((error: Error) => this.logger.error({ err: error }, 'The run worker stopped'));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    const timer = setTimeout(() => this.supervisor.stopAll('handover'), SHUTDOWN_GRACE_MS);
    // A client of the queue that cannot reach its server would wait for it for ever.
    const patience = this.supervisor.isIdle ? HANDOVER_MS : SHUTDOWN_GRACE_MS + HANDOVER_MS;
    if (this.worker !== undefined) await endsWithin(patience, this.worker.close());
    clearTimeout(timer);
  }

  /** Works in one slot until nothing waits for it. */
  private async process(job: RunJob): Promise<void> {
    let run = await this.slots.take(job);
    while (run !== undefined) {
      try {
        const next = await this.executor.execute(run);
        if (next !== undefined) await this.queue.ask(next);
      } finally {
        this.slots.free(run);
      }
      run = this.isClosing ? undefined : await this.slots.takeNext();
    }
  }
}
