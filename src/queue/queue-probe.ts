import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config/app-config.js';

/** Tells whether the queue's backend answers. */
@Injectable()
export class QueueProbe implements OnApplicationShutdown {
  private readonly redis: Redis | undefined;

  constructor(
    config: AppConfig,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {
    if (config.redisUrl === undefined) return;
    this.redis = new Redis(config.redisUrl, { lazyConnect: true, maxRetriesPerRequest: 0, enableOfflineQueue: true });
    // The probe's own rejection tells; an unheard event would end the process.
    this.redis.on('error', () => undefined);
  }

  get usesRedis(): boolean {
    return this.redis !== undefined;
  }

  /** Resolves when the backend answered, rejects when it did not. */
  async ping(): Promise<void> {
    if (this.redis !== undefined) await this.redis.ping();
    else await this.dataSource.query('SELECT 1 FROM bullmq.meta LIMIT 1');
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }
}
