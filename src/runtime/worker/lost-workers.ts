import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { LostAttempts } from '../runs/records/lost-attempts.js';
import { RunQueue } from '../runs/run-queue.js';

const LOOK_EVERY_MS = 500;
/** A worker whose connection was lost takes its lock again within this time, or sends a heartbeat. */
const TAKES_LOCK_WITHIN_MS = 900;

/**
 * Finds workers that have died, and gives up their attempts, so that others continue the runs. Every worker looks. A
 * worker that is stopped keeps its lock; its runs are found by their heartbeats.
 */
@Injectable()
export class LostWorkers implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(LostWorkers.name);
  private readonly looks = new PeriodicTask((signal) => this.look(signal), {
    pauseMs: LOOK_EVERY_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot look for lost workers'),
  });

  constructor(
    private readonly attempts: LostAttempts,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.looks.start();
  }

  onApplicationShutdown(): void {
    void this.looks.stop();
  }

  private async look(signal: AbortSignal): Promise<void> {
    const suspects = await this.attempts.find();
    if (suspects.length === 0) return;
    await sleep(TAKES_LOCK_WITHIN_MS, undefined, { signal });
    for (const { runId, attempt } of await this.attempts.giveUp(suspects)) {
      this.logger.warn({ run_id: runId, attempt }, 'The worker of a run has died');
      await this.queue.wakeWorker();
    }
  }
}
