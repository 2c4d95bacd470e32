import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../agents/agents.module.js';
import { MessageEntity } from './message.entity.js';
import { PreparedStatements } from './prepared-statements.js';
import { RunEntity } from './run.entity.js';
import { RunCancellingService } from './run-cancelling.service.js';
import { RunExecutionService } from './run-execution.service.js';
import { RunPostingService } from './run-posting.service.js';
import { RunReaderService } from './run-reader.service.js';
import { RunRevocationService } from './run-revocation.service.js';
import { RunTurns } from './run-turns.service.js';
import { RunTools } from './run.tools.js';
import { ThreadEntity } from './thread.entity.js';
import { ThreadRepository } from './thread.repository.js';
import { ThreadService } from './thread.service.js';
import { ThreadTools } from './thread.tools.js';
import { TranscriptService } from './transcript.service.js';

/** Threads, their transcript, and the record of the runs on them. */
@Module({
  imports: [TypeOrmModule.forFeature([ThreadEntity, MessageEntity, RunEntity]), AgentsModule],
  providers: [
    PreparedStatements,
    ThreadService,
    ThreadRepository,
    ThreadTools,
    TranscriptService,
    RunPostingService,
    RunExecutionService,
    RunReaderService,
    RunCancellingService,
    RunRevocationService,
    RunTurns,
    RunTools,
  ],
  exports: [
    ThreadService,
    TranscriptService,
    RunPostingService,
    RunExecutionService,
    RunReaderService,
    RunCancellingService,
    RunRevocationService,
    RunTurns,
  ],
})
export class ThreadsModule {}
