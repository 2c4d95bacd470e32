import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { AppConfig } from '../../core/config/app-config.js';
import { databaseDate } from '../../core/database-time.js';
import { contributedMethods } from '../../core/contributions.js';
import {
  type DeleteBatch,
  DELETES_EXPIRED,
  type ExpiredRowsDefinition,
  SMALLEST_FULL_BATCH,
} from '../../core/deletes-expired.js';
import { PeriodicTask } from '../../core/periodic-task.js';

/** Pause between two statements, so that large deletions do not slow down concurrent requests. */
const PAUSE_MS = 20;

/**
 * Deletes what the `@DeletesExpired` methods of the application find, each at its own pace, until the service stops.
 */
@Injectable()
export class ExpiredRows implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(ExpiredRows.name);
  private tasks: readonly PeriodicTask[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    const deletions = contributedMethods<ExpiredRowsDefinition, DeleteBatch>(this.discovery, DELETES_EXPIRED);
    this.tasks = deletions.map(({ metadata: { rows, pauseMs }, value: deleteBatch }) => {
      return new PeriodicTask((signal) => deleteAll(deleteBatch, signal), {
        pauseMs: pauseMs(this.config.settings),
        isSpread: true,
        onError: (error) =>
          this.logger.warn({ err: error }, `Expired ${rows} could not be deleted and will be tried again`),
      });
    });
    for (const task of this.tasks) task.start();
  }

  /** Ends before the modules close their connections. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }
}

/** What expires during the turn belongs to the next one, or a turn under steady load would not end. */
async function deleteAll(deleteBatch: DeleteBatch, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await deleteBatch(databaseDate())) >= SMALLEST_FULL_BATCH) {
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}
