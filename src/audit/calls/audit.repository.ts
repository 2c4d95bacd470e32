import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { AuditRecordEntity } from './audit-record.entity.js';

/** Reads and deletes audit records; `AuditWriter` inserts them. */
@Injectable()
export class AuditRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** For `paginate`; the alias is `record`. */
  queryOfOrganization(manager: EntityManager, organizationId: string): SelectQueryBuilder<AuditRecordEntity> {
    return manager
      .createQueryBuilder(AuditRecordEntity, 'record')
      .where('record.organizationId = :organizationId', { organizationId });
  }

  /** The organizations that have records, found by skipping through the primary key instead of scanning it. */
  async findOrganizationIds(): Promise<string[]> {
    const rows: { id: string }[] = await this.database.query(`
      WITH RECURSIVE step AS (
        (SELECT organization_id AS id FROM audit_records ORDER BY organization_id LIMIT 1)
        UNION ALL
        SELECT (SELECT organization_id FROM audit_records WHERE organization_id > step.id ORDER BY organization_id LIMIT 1)
        FROM step WHERE step.id IS NOT NULL
      )
      SELECT id FROM step WHERE id IS NOT NULL`);
    return rows.map(({ id }) => id);
  }

  /**
   * Deletes up to `limit` of the organization's oldest records before `time`. Skips records that another process is deleting.
   * @returns the number of deleted records
   */
  async deleteBefore(organizationId: string, time: Date, limit: number): Promise<number> {
    // Delete by ctid, so that the plan does not depend on statistics. The rows are locked and never change.
    const [{ deleted }]: [{ deleted: number }] = await this.database.query(
      `WITH gone AS (
         DELETE FROM audit_records WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM audit_records WHERE organization_id = $1 AND at < $2
            ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED
         ))
         RETURNING 1
       )
       SELECT count(*)::integer AS deleted FROM gone`,
      [organizationId, time, limit],
    );
    return deleted;
  }
}
