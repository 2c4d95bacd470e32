import { Module } from '@nestjs/common';
import { AnswerBudgetModule } from '../../core/answers/answer-budget.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { EventsModule } from '../events/events.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { RunRecordsModule } from '../runs/records/run-records.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { StreamingModule } from '../streaming/streaming.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { RunResultController } from './run-result.controller.js';
import { RunResultService } from './run-result.service.js';
import { RunWaiting } from './run-waiting.js';
import { TurnResponder } from './turn-responder.js';
import { TurnsController } from './turns.controller.js';

/** Requests that start a run, and their answers: at once, with the result, or as a stream. */
@Module({
  imports: [
    AnswerBudgetModule,
    CredentialsModule,
    EventsModule,
    LimitsModule,
    RunRecordsModule,
    RunsModule,
    StreamingModule,
    TelemetryModule,
    ThreadsModule,
  ],
  controllers: [TurnsController, RunResultController],
  providers: [RunResultService, RunWaiting, TurnResponder],
  exports: [RunResultService, RunWaiting],
})
export class TurnsModule {}
