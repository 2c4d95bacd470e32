import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** How long an organization keeps threads and runs, in days; absent: forever. */
interface RetainedOrganization {
  readonly id: string;
  readonly retention: { readonly threads_days?: number; readonly runs_days?: number };
}

/** Deletes threads and runs by the time of their last change. */
@Injectable()
export class RetentionRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** The organizations that do not keep everything. */
  findOrganizations(): Promise<RetainedOrganization[]> {
    return this.database.query(`SELECT id, retention FROM organizations WHERE retention <> '{}' ORDER BY id`);
  }

  /**
   * Deletes threads without an open run, with their messages and runs. Returns the number of threads, at most `limit`. A thread that
   * changes meanwhile is kept: its row is locked, and compared again after that.
   */
  deleteThreads(organizationId: string, before: Date, limit: number): Promise<number> {
    // The index is on `created_at`, which is never after `updated_at`.
    return this.count(
      `DELETE FROM threads WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM threads
          WHERE organization_id = $1 AND created_at < $2 AND updated_at < $2 AND status <> 'in_progress'
          ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED
       )) RETURNING 1`,
      [organizationId, before, limit],
    );
  }

  /** Deletes the records of ended runs. Their messages stay. Returns the number of runs, at most `limit`. */
  deleteRuns(organizationId: string, before: Date, limit: number): Promise<number> {
    return this.count(
      `DELETE FROM runs WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM runs
          WHERE organization_id = $1 AND created_at < $2 AND updated_at < $2 AND status IN ('completed', 'failed', 'cancelled')
          ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED
       )) RETURNING 1`,
      [organizationId, before, limit],
    );
  }

  private async count(deletion: string, values: readonly unknown[]): Promise<number> {
    const [row]: { deleted: number }[] = await this.database.query(
      `WITH gone AS (${deletion}) SELECT count(*)::integer AS deleted FROM gone`,
      [...values],
    );
    return row?.deleted ?? 0;
  }
}
