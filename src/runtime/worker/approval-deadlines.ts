import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { ApprovalAnswers } from '../runs/records/approval-closing.js';
import { RunQueue } from '../runs/run-queue.js';

const CHECK_EVERY_MS = 1000;

/** Denies tool calls that nobody has answered in time, and lets their runs continue. Every worker checks. */
@Injectable()
export class ApprovalDeadlines implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ApprovalDeadlines.name);
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot close overdue approvals; retrying'),
  });

  constructor(
    private readonly answers: ApprovalAnswers,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.checks.start();
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
  }

  private async check(): Promise<void> {
    for (let runs = await this.answers.closeOverdue(); runs > 0; runs--) await this.queue.wakeWorker();
  }
}
