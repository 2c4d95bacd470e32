import { Module } from '@nestjs/common';
import { LongReads } from './long-reads.js';

@Module({ providers: [LongReads], exports: [LongReads] })
export class LongReadsModule {}
