import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../common/health-check.js';

/** Checks whether Redis responds. Only an application that uses Redis has this provider. */
export class RedisProbe implements OnApplicationShutdown {
  private readonly redis: Redis;

  constructor(url: string) {
    this.redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, enableOfflineQueue: true });
    // `ping` reports the failure. Without a listener, an `error` event would end the process.
    this.redis.on('error', () => undefined);
  }

  /** Resolves if Redis responds, otherwise rejects. */
  @HealthCheck('redis')
  async ping(): Promise<void> {
    await this.redis.ping();
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}

/** Checks whether the queue's backend responds: Redis where it is used, otherwise PostgreSQL. */
@Injectable()
export class QueueProbe {
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
