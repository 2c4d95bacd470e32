import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { databaseDate } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { AppConfig } from '../../core/config/app-config.js';
import { Names } from '../../core/names/names.js';
import { AuditEventRepository } from './audit-event.repository.js';

const DAY_MS = 86_400_000;
const SWEEP_EVERY_MS = 3_600_000;
const EVENTS_PER_STATEMENT = 1000;

/** Deletes events older than AUDIT_RETENTION_DAYS, and the names of what was deleted before. Every process sweeps. */
@Injectable()
export class AuditEventSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(AuditEventSweeper.name);
  private readonly sweeps = new PeriodicTask((signal) => this.sweep(databaseDate(), signal), {
    pauseMs: SWEEP_EVERY_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Old events could not be deleted and will be tried again'),
  });

  constructor(
    private readonly config: AppConfig,
    private readonly events: AuditEventRepository,
    private readonly names: Names,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.settings.auditRetentionDays > 0) this.sweeps.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  /** Deletes everything that has exceeded the retention time at `now`, until the signal aborts. */
  async sweep(now: Date, signal: AbortSignal = new AbortController().signal): Promise<void> {
    const before = new Date(now.getTime() - this.config.settings.auditRetentionDays * DAY_MS);
    let deleted = EVENTS_PER_STATEMENT;
    while (deleted === EVENTS_PER_STATEMENT && !signal.aborted) {
      deleted = await this.events.deleteBefore(before, EVENTS_PER_STATEMENT);
    }
    await this.names.forgetDeletedBefore(before);
  }
}
