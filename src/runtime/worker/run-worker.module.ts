import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents/agents.module.js';
import { EventsModule } from '../events/events.module.js';
import { ModelsModule } from '../../agents/models/models.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { AgentSessionService } from './agent-session.service.js';
import { ApprovalDeadlines } from './approval-deadlines.js';
import { FileRecordsModule } from '../files/files.module.js';
import { LostWorkers, WorkerLock } from './worker-liveness.js';
import { RecordingWriter } from './recording/recording-writer.js';
import { RunAnswerFactory } from './run-answer.factory.js';
import { AttemptPartsFactory, RunExecutorService } from './run-executor.service.js';
import { RunModelsFactory } from './run-models.js';
import { RunProcessor } from './run.processor.js';
import { RunRecordsModule } from '../runs/records/run-records.module.js';
import { RunQueueMetrics } from '../runs/run-queue-metrics.js';
import { RunQueueModule } from '../runs/run-queue.module.js';
import { RunRevocations } from './run-revocations.js';
import { RunSlots } from './run-slots.js';
import { RunSupervisor } from './run-supervisor.js';

/** Executes runs. */
@Module({
  imports: [
    FileRecordsModule,
    ThreadsModule,
    AgentsModule,
    ModelsModule,
    EventsModule,
    RunRecordsModule,
    RunQueueModule,
    TelemetryModule,
  ],
  providers: [
    RunProcessor,
    RunExecutorService,
    AttemptPartsFactory,
    RunAnswerFactory,
    RunModelsFactory,
    AgentSessionService,
    RecordingWriter,
    RunSlots,
    RunSupervisor,
    WorkerLock,
    LostWorkers,
    RunRevocations,
    ApprovalDeadlines,
    RunQueueMetrics,
  ],
})
export class RunWorkerModule {}
