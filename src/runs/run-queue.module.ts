import { Module } from '@nestjs/common';
import { QueueModule } from '../queue/queue.module.js';
import { RunQueue } from './run-queue.js';

@Module({ imports: [QueueModule], providers: [RunQueue], exports: [RunQueue] })
export class RunQueueModule {}
