import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
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
  private timer: NodeJS.Timeout | undefined;
  private sweeping = false;

  constructor(
    private readonly config: AppConfig,
    private readonly execution: RunExecution,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.sweep(), this.config.settings.runLockMs / 6);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** A run that waits asks for nothing but a job, and asking twice is harmless: a sixth is enough. Silence of three quarters of the lock time, found within a sixth of it, is noticed within the lock time. */
  private async sweep(): Promise<void> {
    if (this.sweeping) return;
    this.sweeping = true;
    try {
      const { runLockMs } = this.config.settings;
      const due = await this.execution.findStalled(runLockMs * 0.75, runLockMs / 6);
      for (const { runId, attempt, status } of due) {
        if (status === 'running') this.logger.warn({ run_id: runId, attempt }, 'The worker of a run fell silent');
        await this.queue.ask({ runId, attempt: attempt + 1 });
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'Lost runs could not be looked for');
    } finally {
      this.sweeping = false;
    }
  }
}
