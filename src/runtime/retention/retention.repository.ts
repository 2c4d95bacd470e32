import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { MODEL_CALLS_KEPT_DAYS } from '../../core/model-recording.js';
import { DeletesExpired, SMALLEST_FULL_BATCH } from '../../core/deletes-expired.js';
import { deleteBatch, deleteFound } from '../../platform/database/delete-batch.js';

/** A thread is deleted with its messages and runs, so a batch of threads is smaller. */
const THREADS_PER_STATEMENT = SMALLEST_FULL_BATCH;
const RUNS_PER_STATEMENT = 500;
const RECORDINGS_PER_STATEMENT = 500;
/** A transient thread that nobody has deleted stays this long after its run, so that its answer can be read. */
const TRANSIENT_KEPT_MS = 60_000;
/** Two months from their start, the longest of which is one. */
const SPEND_WINDOWS_KEPT_MS = 62 * 86_400_000;

/**
 * Deletes the threads and runs that organizations no longer keep (`organizations.retention`), by the time of their last
 * change.
 */
@Injectable()
export class RetentionRepository {
  constructor(
    @InjectDataSource() private readonly database: DataSource,
    private readonly config: AppConfig,
  ) {}

  /**
   * Deletes threads without an open run, with their messages and runs. A thread that changes meanwhile is kept: its row
   * is locked, and compared again after that.
   */
  @DeletesExpired('threads')
  deleteThreads(now: Date): Promise<number> {
    return this.deleteOld('threads', 'threads_days', `status <> 'in_progress'`, THREADS_PER_STATEMENT, now);
  }

  /** Deletes transient threads whose run is over, if the request that began them has not done so. */
  @DeletesExpired('transient threads')
  deleteTransientThreads(now: Date): Promise<number> {
    const before = new Date(now.getTime() - Math.min(TRANSIENT_KEPT_MS, this.config.settings.retentionDayMs));
    const expired = `
      SELECT ctid FROM threads
       WHERE is_transient AND created_at < $1 AND updated_at < $1 AND status <> 'in_progress'
       ORDER BY created_at LIMIT ${THREADS_PER_STATEMENT} FOR UPDATE SKIP LOCKED`;
    return deleteFound(this.database, 'threads', expired, [before]);
  }

  /** Deletes the records of ended runs. Their messages stay. */
  @DeletesExpired('runs')
  deleteRuns(now: Date): Promise<number> {
    const hasEnded = `status IN ('completed', 'failed', 'cancelled')`;
    return this.deleteOld('runs', 'runs_days', hasEnded, RUNS_PER_STATEMENT, now);
  }

  /** Deletes what was recorded of model calls. */
  @DeletesExpired('recorded model calls')
  deleteModelRecordings(now: Date): Promise<number> {
    const expired = `
      SELECT expired.ctid FROM (
        SELECT id, $1::timestamptz - coalesce((retention->>'model_calls_days')::float8, ${MODEL_CALLS_KEPT_DAYS})
                     * $2 * interval '1 millisecond' AS kept_since
          FROM organizations
      ) AS organization CROSS JOIN LATERAL (
        SELECT ctid FROM model_recordings WHERE organization_id = organization.id AND created_at < kept_since
         ORDER BY created_at LIMIT ${RECORDINGS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
      ) AS expired LIMIT ${RECORDINGS_PER_STATEMENT}`;
    return deleteFound(this.database, 'model_recordings', expired, [now, this.config.settings.retentionDayMs]);
  }

  /** Deletes the windows of spending limits that have ended long ago, once all of their calls are settled. */
  @DeletesExpired('spending windows')
  deleteSpendWindows(now: Date): Promise<number> {
    const before = new Date(now.getTime() - SPEND_WINDOWS_KEPT_MS);
    return deleteBatch(this.database, 'spend_windows', 'starts_at < $1 AND reserved = 0', [before]);
  }

  private deleteOld(table: string, days: string, condition: string, limit: number, now: Date): Promise<number> {
    // The index is on `created_at`, which is never after `updated_at`.
    const expired = `
      SELECT expired.ctid FROM (
        SELECT id, $1::timestamptz - (retention->>'${days}')::float8 * $2 * interval '1 millisecond' AS kept_since
          FROM organizations WHERE retention ? '${days}'
      ) AS organization CROSS JOIN LATERAL (
        SELECT ctid FROM ${table}
         WHERE organization_id = organization.id AND created_at < kept_since AND updated_at < kept_since
           AND ${condition}
         ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) AS expired LIMIT ${limit}`;
    return deleteFound(this.database, table, expired, [now, this.config.settings.retentionDayMs]);
  }
}
