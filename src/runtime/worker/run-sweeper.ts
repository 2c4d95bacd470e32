import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { AppConfig } from '../../core/config/app-config.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { RunQueue } from '../runs/run-queue.js';

/**
 * Finds runs whose worker stopped or whose job was lost, and enqueues their next attempt. Every worker sweeps; the
 * claim admits only one of them.
 */
@Injectable()
export class RunSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RunSweeper.name);
  private readonly sweeps: PeriodicTask;

  constructor(
    private readonly config: AppConfig,
    private readonly execution: RunExecution,
    private readonly queue: RunQueue,
  ) {
    this.sweeps = new PeriodicTask(() => this.sweep(), {
      pauseMs: config.settings.runLockMs / 6,
      onError: (error) => this.logger.warn({ err: error }, 'Cannot search for lost runs'),
    });
  }

  onApplicationBootstrap(): void {
    this.sweeps.start();
  }

  onApplicationShutdown(): void {
    void this.sweeps.stop();
  }

  /**
   * Enqueueing a waiting run twice is harmless, so it counts as stalled after a sixth of the lock time. A running one
   * counts as stalled after three quarters without a heartbeat: the next sweep, a sixth later at most, finds it within
   * the lock time.
   */
  private async sweep(): Promise<void> {
    const { runLockMs } = this.config.settings;
    const due = await this.execution.findStalled(runLockMs * 0.75, runLockMs / 6);
    for (const { runId, attempt, status } of due) {
      if (status === 'running')
        this.logger.warn({ run_id: runId, attempt }, 'The worker of a run stopped sending heartbeats');
      await this.queue.enqueue({ runId, attempt: attempt + 1 });
    }
  }
}
