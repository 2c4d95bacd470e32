import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LongReadsModule } from '../../platform/database/long-reads.module.js';
import { NamesModule } from '../../core/names/names.module.js';
import { AuditEventEntity } from './audit-event.entity.js';
import { AuditEventReader } from './audit-event-reader.js';
import { AuditEventRepository } from './audit-event.repository.js';
import { AuditEventTools } from './audit-event.tools.js';
import { AuditEvents } from './audit-events.js';

/** The record of events. Modules that change what it covers write it; AUDIT_EVENTS_LIST reads it. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditEventEntity]), LongReadsModule, NamesModule],
  providers: [AuditEvents, AuditEventReader, AuditEventRepository, AuditEventTools],
  exports: [AuditEvents, AuditEventReader],
})
export class AuditEventsModule {}
