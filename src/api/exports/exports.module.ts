import { Module } from '@nestjs/common';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { AuditModule } from '../../audit/calls/audit.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { ExportService } from './export.service.js';
import { ExportsController } from './exports.controller.js';

/** Exports of the records. */
@Module({
  imports: [AuditModule, AuditEventsModule, CredentialsModule],
  controllers: [ExportsController],
  providers: [ExportService],
})
export class ExportsModule {}
