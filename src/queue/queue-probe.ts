import { Injectable, Optional } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../common/health-check.js';
import { RedisProbe } from './redis-probe.js';

/** Tells whether the queue's backend answers: Redis where it is used, otherwise PostgreSQL. */
@Injectable()
export class QueueProbe {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Optional() private readonly redis?: RedisProbe,
  ) {}

  /** Resolves when the backend answered, rejects when it did not. */
  @HealthCheck('queue')
  async ping(): Promise<void> {
    if (this.redis !== undefined) await this.redis.ping();
    else await this.dataSource.query('SELECT 1 FROM bullmq.meta LIMIT 1');
  }
}
