import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseDate } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { AppConfig } from '../../core/config/app-config.js';
import { AuditRepository } from './audit.repository.js';

const DAY_MS = 86_400_000;
const SWEEP_EVERY_MS = 600_000;
const RECORDS_PER_STATEMENT = 1000;
/** Pause between two statements, so that large deletions do not slow down concurrent calls. */
const PAUSE_MS = 20;

/** Deletes records older than AUDIT_RETENTION_DAYS. Every process sweeps, without waiting for the others. */
@Injectable()
export class AuditSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(AuditSweeper.name);
  private readonly sweeps = new PeriodicTask((signal) => this.sweep(databaseDate(), signal), {
    pauseMs: SWEEP_EVERY_MS,
    isSpread: true,
    onError: (error) =>
      this.logger.warn({ err: error }, 'Old audit records could not be deleted and will be tried again'),
  });

  constructor(
    private readonly config: AppConfig,
    private readonly records: AuditRepository,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.settings.auditRetentionDays > 0) this.sweeps.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  /** Deletes all records that have exceeded the retention time at `now`, until the signal aborts. */
  async sweep(now: Date, signal: AbortSignal = new AbortController().signal): Promise<void> {
    const before = new Date(now.getTime() - this.config.settings.auditRetentionDays * DAY_MS);
    for (const organizationId of await this.records.findOrganizationIds()) {
      let deleted = RECORDS_PER_STATEMENT;
      while (deleted === RECORDS_PER_STATEMENT && !signal.aborted) {
        deleted = await this.records.deleteBefore(organizationId, before, RECORDS_PER_STATEMENT);
        await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
