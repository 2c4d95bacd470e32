import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { AppConfig } from '../../core/config/app-config.js';
import { RetentionRepository } from './retention.repository.js';

const LONGEST_PAUSE_MS = 600_000;
const SHORTEST_PAUSE_MS = 100;
/** A thread is deleted with its messages and runs, so a batch of threads is smaller. */
const THREADS_PER_STATEMENT = 20;
const RUNS_PER_STATEMENT = 500;
/** Pause between two statements, so that large deletions do not slow down concurrent requests. */
const PAUSE_MS = 20;

/** Deletes one batch of what an organization no longer keeps. */
type DeleteBatch = (organizationId: string, before: Date, limit: number) => Promise<number>;

/** Deletes the threads and runs that organizations no longer keep. Every worker sweeps, without waiting for the others. */
@Injectable()
export class RetentionSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RetentionSweeper.name);
  private readonly dayMs: number;
  private readonly sweeps: PeriodicTask;

  constructor(
    config: AppConfig,
    private readonly records: RetentionRepository,
  ) {
    this.dayMs = config.settings.retentionDayMs;
    this.sweeps = new PeriodicTask((signal) => this.sweep(signal), {
      pauseMs: Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, this.dayMs / 10)),
      isSpread: true,
      onError: (error) =>
        this.logger.warn({ err: error }, 'Old threads and runs could not be deleted and will be tried again'),
    });
  }

  onApplicationBootstrap(): void {
    this.sweeps.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  private async sweep(signal: AbortSignal): Promise<void> {
    const { records } = this;
    for (const { id, retention } of await records.findOrganizations()) {
      const threads: DeleteBatch = (...batch) => records.deleteThreads(...batch);
      await this.deleteAll(threads, id, retention.threads_days, THREADS_PER_STATEMENT, signal);
      const runs: DeleteBatch = (...batch) => records.deleteRuns(...batch);
      await this.deleteAll(runs, id, retention.runs_days, RUNS_PER_STATEMENT, signal);
    }
  }

  private async deleteAll(
    deleteBatch: DeleteBatch,
    organizationId: string,
    days: number | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (days === undefined) return;
    const before = new Date(databaseNow() - days * this.dayMs);
    let deleted = limit;
    while (deleted === limit && !signal.aborted) {
      deleted = await deleteBatch(organizationId, before, limit);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
