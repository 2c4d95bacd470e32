import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../agents/agents.module.js';
import { MessageEntity } from './message.entity.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { RunEntity } from '../runs/records/run.entity.js';
import { RunCancellingService } from '../runs/records/run-cancelling.js';
import { RunExecutionService } from '../runs/records/run-execution.js';
import { RunPostingService } from '../runs/records/run-posting.js';
import { RunReaderService } from '../runs/records/run-reader.js';
import { RunRevocationService } from '../runs/records/run-revocation.js';
import { RunTurns } from '../runs/records/run-turns.js';
import { RunTools } from '../runs/run.tools.js';
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
