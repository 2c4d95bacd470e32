import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../../agents/agents.module.js';
import { FileRecordsModule } from '../files/files.module.js';
import { LongReadsModule } from '../../platform/database/long-reads.module.js';
import { PreparedStatementsModule } from '../../platform/database/prepared-statements.module.js';
import { AnswerSuperseding } from './answer-superseding.js';
import { MessageEntity } from './message.entity.js';
import { RecentHistories } from './recent-histories.js';
import { ThreadCopying } from './thread-copying.js';
import { ThreadEntity } from './thread.entity.js';
import { ThreadRepository } from './thread.repository.js';
import { ThreadService } from './thread.service.js';
import { ThreadStatsService } from './thread-stats.service.js';
import { ThreadTools } from './thread.tools.js';
import { TranscriptService } from './transcript.service.js';

/** Threads and their transcripts. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ThreadEntity, MessageEntity]),
    PreparedStatementsModule,
    LongReadsModule,
    AgentsModule,
    FileRecordsModule,
  ],
  providers: [
    ThreadService,
    ThreadRepository,
    ThreadStatsService,
    ThreadTools,
    ThreadCopying,
    AnswerSuperseding,
    TranscriptService,
    RecentHistories,
  ],
  exports: [AnswerSuperseding, RecentHistories, ThreadCopying, ThreadService, TranscriptService],
})
export class ThreadsModule {}
