import { Module } from '@nestjs/common';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { AgentsModule } from '../../agents/agents.module.js';
import { LongReadsModule } from '../../platform/database/long-reads.module.js';
import { ModelsModule } from '../../agents/models/models.module.js';
import { FileRecordsModule } from '../files/files.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { NamesModule } from '../../core/names/names.module.js';
import { EventsModule } from '../events/events.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { ModelCallTools } from './model-call.tools.js';
import { RequestMessages, RunRequestService } from './run-request.service.js';
import { RunCancellationService } from './run-cancellation.service.js';
import { RunRecordsModule } from './records/run-records.module.js';
import { RunQueueModule } from './run-queue.module.js';
import { RunStatsRepository } from './run-stats.repository.js';
import { RunStatsService } from './run-stats.service.js';
import { RunTools } from './run.tools.js';
import { RunsController } from './runs.controller.js';
import { SteerRequestService } from './steer-request.service.js';
import { UsageRepository } from './usage.repository.js';
import { UsageService } from './usage.service.js';
import { UsageTools } from './usage.tools.js';

/** The caller's side of runs: posting, reading and cancelling them, and their usage. */
@Module({
  imports: [
    AuditEventsModule,
    FileRecordsModule,
    LimitsModule,
    LongReadsModule,
    ModelsModule,
    NamesModule,
    ThreadsModule,
    AgentsModule,
    EventsModule,
    RunRecordsModule,
    RunQueueModule,
    TelemetryModule,
  ],
  controllers: [RunsController],
  providers: [
    RequestMessages,
    RunRequestService,
    SteerRequestService,
    RunCancellationService,
    RunTools,
    ModelCallTools,
    RunStatsRepository,
    RunStatsService,
    UsageRepository,
    UsageService,
    UsageTools,
  ],
  exports: [RunCancellationService, RunRequestService, RunStatsService, SteerRequestService],
})
export class RunsModule {}
