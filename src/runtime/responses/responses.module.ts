import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents/agents.module.js';
import { AnswerBudgetModule } from '../../core/answers/answer-budget.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ApprovalsModule } from '../approvals/approvals.module.js';
import { EventsModule } from '../events/events.module.js';
import { RunRecordsModule } from '../runs/records/run-records.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { StreamingModule } from '../streaming/streaming.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { TurnsModule } from '../turns/turns.module.js';
import { ConversationTail } from './conversation-tail.js';
import { PreviousResponses } from './previous-responses.js';
import { ResponseApprovals } from './response-approvals.js';
import { OpenAiModelsController } from './openai-models.controller.js';
import { ResponsePosting } from './response-posting.js';
import { ResponseReader } from './response-reader.js';
import { ResponseResponder, ResponseStreams, UnstoredResponses } from './response-responder.js';
import { ResponsesController } from './responses.controller.js';

/** OpenAI's Responses API: a face of threads and runs, without a store of its own. */
@Module({
  imports: [
    AgentsModule,
    AnswerBudgetModule,
    ApprovalsModule,
    EventsModule,
    LimitsModule,
    RunRecordsModule,
    RunsModule,
    StreamingModule,
    TelemetryModule,
    ThreadsModule,
    TurnsModule,
  ],
  controllers: [OpenAiModelsController, ResponsesController],
  providers: [
    ConversationTail,
    PreviousResponses,
    ResponseApprovals,
    ResponsePosting,
    ResponseReader,
    ResponseResponder,
    ResponseStreams,
    UnstoredResponses,
  ],
})
export class ResponsesModule {}
