import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LongReadsModule } from '../../platform/database/long-reads.module.js';
import { NamesModule } from '../../core/names/names.module.js';
import { AuditLog } from './audit-log.js';
import { AuditRecordEntity } from './audit-record.entity.js';
import { AuditSettings } from './audit-settings.js';
import { AuditStatsRepository } from './audit-stats.repository.js';
import { AuditRepository } from './audit.repository.js';
import { MonitoringService } from './monitoring.service.js';
import { MonitoringTools } from './monitoring.tools.js';

/** The audit log of tool invocations. Every room that invokes tools writes it; the monitoring tools read it. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditRecordEntity]), LongReadsModule, NamesModule],
  providers: [AuditLog, AuditRepository, AuditSettings, AuditStatsRepository, MonitoringService, MonitoringTools],
  exports: [AuditLog, AuditSettings, MonitoringService],
})
export class AuditModule {}
