import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../agents/agents.module.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { MessageEntity } from './message.entity.js';
import { ThreadEntity } from './thread.entity.js';
import { ThreadRepository } from './thread.repository.js';
import { ThreadService } from './thread.service.js';
import { ThreadTools } from './thread.tools.js';
import { TranscriptService } from './transcript.service.js';

/** Threads and their transcripts. */
@Module({
  imports: [TypeOrmModule.forFeature([ThreadEntity, MessageEntity]), AgentsModule],
  providers: [PreparedStatements, ThreadService, ThreadRepository, ThreadTools, TranscriptService],
  exports: [ThreadService, TranscriptService],
})
export class ThreadsModule {}
