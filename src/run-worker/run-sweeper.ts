import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import { AppConfig } from '../config/app-config.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { RunQueue } from '../runs/run-queue.js';

/**
 * Finds runs whose worker fell silent or whose job was lost, and asks for their next attempt. Every worker sweeps; the
 * claim lets only one of them through.
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
      onError: (error) => this.logger.warn({ err: error }, 'Lost runs could not be looked for'),
    });
  }

  onApplicationBootstrap(): void {
    this.sweeps.start();
  }

  onApplicationShutdown(): void {
    void this.sweeps.stop();
  }

  /** A run that waits asks for nothing but a job, and asking twice is harmless: a sixth is enough. Silence of three quarters of the lock time, found within a sixth of it, is noticed within the lock time. */
  private async sweep(): Promise<void> {
    const { runLockMs } = this.config.settings;
    const due = await this.execution.findStalled(runLockMs * 0.75, runLockMs / 6);
    for (const { runId, attempt, status } of due) {
      if (status === 'running') this.logger.warn({ run_id: runId, attempt }, 'The worker of a run fell silent');
      await this.queue.ask({ runId, attempt: attempt + 1 });
    }
  }
}
