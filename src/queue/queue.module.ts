import { BullModule } from '@nestjs/bullmq';
import { Module, Injectable, Optional } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { queueOptions } from './queue-backend.js';
import { RedisProbe } from './redis-probe.js';
import { ServiceQueue, ServiceWorker } from './service-queue.js';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../common/health-check.js';

// Process-wide, and read when a module registers a queue: such a module imports this file first.
BullModule.queueClass = ServiceQueue;
BullModule.workerClass = ServiceWorker;

/** Checks whether the queue's backend responds: Redis where it is used, otherwise PostgreSQL. */
@Injectable()
class QueueProbe {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Optional() private readonly redis?: RedisProbe,
  ) {}

  /** Resolves if the backend responds, otherwise rejects. */
  @HealthCheck('queue')
  async ping(): Promise<void> {
    if (this.redis !== undefined) await this.redis.ping();
    else await this.dataSource.query('SELECT 1 FROM bullmq.meta LIMIT 1');
  }
}

/** The connection of all queues. A feature module imports it and registers its queue with `BullModule.registerQueue`. */
@Module({
  imports: [BullModule.forRootAsync({ inject: [AppConfig], useFactory: queueOptions })],
  providers: [
    QueueProbe,
    {
      provide: RedisProbe,
      inject: [AppConfig],
      useFactory: ({ redisUrl }: AppConfig) => (redisUrl === undefined ? undefined : new RedisProbe(redisUrl)),
    },
  ],
})
export class QueueModule {}
