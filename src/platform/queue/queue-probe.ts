import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../../core/health-check.js';
import { backoffMs } from '../../core/retry.js';
import type { RedisAddress } from '../../core/config/redis-address.js';
import { openRedis, type RedisClient } from '../redis/open-redis.js';
import { QUEUE_PREFIX } from './queue-backend.js';

const ANSWER_WITHIN_MS = 2_000;
const KEPT_MS = 10_000;

/** Checks whether Redis stores what it receives. Only an application that uses Redis has this provider. */
export class RedisProbe implements OnApplicationShutdown {
  private readonly redis: RedisClient;

  constructor(address: RedisAddress) {
    this.redis = openRedis(address, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      commandTimeout: ANSWER_WITHIN_MS,
      retryStrategy: backoffMs,
    });
    // `check` reports the failure. Without a listener, an `error` event would end the process.
    this.redis.on('error', () => undefined);
  }

  /**
   * Resolves if the server, or the cluster node, that holds the queue accepts a value, otherwise rejects. At its memory
   * limit, Redis still answers, and refuses every job.
   */
  @HealthCheck('redis')
  async check(): Promise<void> {
    await this.redis.set(`${QUEUE_PREFIX}:health`, '', 'PX', KEPT_MS);
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}

/** Checks whether the queue's backend works: Redis where it is used, otherwise PostgreSQL. */
@Injectable()
export class QueueProbe {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Optional() private readonly redis?: RedisProbe,
  ) {}

  /** Resolves if the backend responds, otherwise rejects. */
  @HealthCheck('queue')
  async ping(): Promise<void> {
    if (this.redis !== undefined) await this.redis.check();
    else await this.dataSource.query('SELECT 1 FROM bullmq.meta LIMIT 1');
  }
}
