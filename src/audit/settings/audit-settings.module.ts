import { Module } from '@nestjs/common';
import { AuditModule } from '../calls/audit.module.js';
import { AuditEventsModule } from '../events/audit-events.module.js';
import { AuditSettingsTools } from './audit-settings.tools.js';

/** The tools that read and change what is recorded of tool calls. A change is on record as an event. */
@Module({
  imports: [AuditModule, AuditEventsModule],
  providers: [AuditSettingsTools],
})
export class AuditSettingsModule {}
