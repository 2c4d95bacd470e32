import { Module } from '@nestjs/common';
import { LongReads } from './long-reads.js';
import { PreparedStatementsModule } from './prepared-statements.module.js';

@Module({ imports: [PreparedStatementsModule], providers: [LongReads], exports: [LongReads] })
export class LongReadsModule {}
