import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { QueueModule } from '../queue/queue.module.js';
import { RunQueue } from './run-queue.js';
import { UnstartedRun } from './unstarted-run.service.js';

@Module({
  imports: [QueueModule, EventsModule],
  providers: [RunQueue, UnstartedRun],
  exports: [RunQueue, UnstartedRun],
})
export class RunQueueModule {}
