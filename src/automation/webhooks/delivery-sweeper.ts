import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { AppConfig } from '../../core/config/app-config.js';
import { DeliveryRepository } from './delivery.repository.js';

const KEPT_DAYS = 30;
const LONGEST_PAUSE_MS = 3_600_000;
const SHORTEST_PAUSE_MS = 100;
const DELIVERIES_PER_STATEMENT = 1000;

/** Deletes settled deliveries after 30 days. Every worker sweeps, without waiting for the others. */
@Injectable()
export class DeliverySweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(DeliverySweeper.name);
  private readonly keptMs: number;
  private readonly sweeps: PeriodicTask;

  constructor(
    { settings }: AppConfig,
    private readonly deliveries: DeliveryRepository,
  ) {
    this.keptMs = KEPT_DAYS * settings.retentionDayMs;
    this.sweeps = new PeriodicTask((signal) => this.sweep(signal), {
      pauseMs: Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, settings.retentionDayMs / 10)),
      isSpread: true,
      onError: (error) =>
        this.logger.warn({ err: error }, 'Old webhook deliveries could not be deleted and will be tried again'),
    });
  }

  onApplicationBootstrap(): void {
    this.sweeps.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  private async sweep(signal: AbortSignal): Promise<void> {
    const before = new Date(databaseNow() - this.keptMs);
    let deleted = DELIVERIES_PER_STATEMENT;
    while (deleted === DELIVERIES_PER_STATEMENT && !signal.aborted) {
      deleted = await this.deliveries.deleteBefore(before, DELIVERIES_PER_STATEMENT);
    }
  }
}
