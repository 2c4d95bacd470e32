import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { deleteBefore } from '../delete-before.js';
import { AuditRecordEntity } from './audit-record.entity.js';

/** Reads and deletes audit records; `AuditWriter` inserts them. */
@Injectable()
export class AuditRepository {
  constructor(
    @InjectDataSource() private readonly database: DataSource,
    private readonly config: AppConfig,
  ) {}

  /** For `paginate`; the alias is `record`. */
  queryOfOrganization(manager: EntityManager, organizationId: string): SelectQueryBuilder<AuditRecordEntity> {
    return manager
      .createQueryBuilder(AuditRecordEntity, 'record')
      .where('record.organizationId = :organizationId', { organizationId });
  }

  /** Deletes up to 1,000 records that are older than `AUDIT_RETENTION_DAYS`, the oldest of each organization first. */
  @DeletesExpired('audit records')
  deleteExpired(now: Date): Promise<number> {
    return deleteBefore(this.database, 'audit_records', this.config.auditedSince(now));
  }
}
