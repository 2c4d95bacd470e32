import type { OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { HealthCheck } from '../common/health-check.js';

/** Tells whether Redis answers. An application that does not use Redis has none of it. */
export class RedisProbe implements OnApplicationShutdown {
  private readonly redis: Redis;

  constructor(url: string) {
    this.redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, enableOfflineQueue: true });
    // The probe's own rejection tells; an unheard event would end the process.
    this.redis.on('error', () => undefined);
  }

  /** Resolves when Redis answered, rejects when it did not. */
  @HealthCheck('redis')
  async ping(): Promise<void> {
    await this.redis.ping();
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
