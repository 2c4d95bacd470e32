import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { QueueModule } from '../../platform/queue/queue.module.js';
import { RUN_QUEUE, RunQueue } from './run-queue.js';
import { UnstartedRun } from './unstarted-run.js';

@Module({
  imports: [QueueModule, BullModule.registerQueue({ name: RUN_QUEUE }), EventsModule],
  providers: [RunQueue, UnstartedRun],
  exports: [RunQueue, UnstartedRun],
})
export class RunQueueModule {}
