import { Module } from '@nestjs/common';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { RunRecordsModule } from '../runs/records/run-records.module.js';
import { RunQueueModule } from '../runs/run-queue.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { ApprovalService } from './approval.service.js';
import { ApprovalsController } from './approvals.controller.js';

/** The answers of people to tool calls that need an approval. */
@Module({
  imports: [AuditEventsModule, RunQueueModule, RunRecordsModule, ThreadsModule],
  controllers: [ApprovalsController],
  providers: [ApprovalService],
  exports: [ApprovalService],
})
export class ApprovalsModule {}
