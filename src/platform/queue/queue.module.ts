import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { queueOptions } from './queue-backend.js';
import { QueueProbe, RedisProbe } from './queue-probe.js';
import { ServiceQueue, ServiceWorker } from './service-queue.js';

// Process-wide, and read when a module registers a queue: such a module imports this file first.
BullModule.queueClass = ServiceQueue;
BullModule.workerClass = ServiceWorker;

/**
 * The connection of all queues. A feature module imports it and registers its queue with `BullModule.registerQueue`.
 */
@Module({
  imports: [BullModule.forRootAsync({ inject: [AppConfig], useFactory: queueOptions })],
  providers: [
    QueueProbe,
    {
      provide: RedisProbe,
      inject: [AppConfig],
      useFactory: ({ redis }: AppConfig) => (redis === undefined ? undefined : new RedisProbe(redis)),
    },
  ],
})
export class QueueModule {}
