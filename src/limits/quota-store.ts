import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RateLimiterPostgres, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { PeriodicTask } from '../common/periodic-task.js';
import { withTimeout } from '../common/with-timeout.js';
import { AppConfig } from '../config/app-config.js';
import { openRedis, type RedisClient } from '../redis/open-redis.js';

/** The length of a window, in seconds. */
export const WINDOW_S = 60;

/** A request waits for the count at most this long. */
const ANSWER_WITHIN_MS = 1_000;
const SWEEP_EVERY_MS = 5 * 60_000;

/** The count of a key in its window, over all processes. */
export interface WindowCount {
  readonly count: number;
  /** The time until the window ends, in milliseconds. */
  readonly endsInMs: number;
}

/**
 * The counts of all processes: in Redis if `REDIS_URL` is set, otherwise in PostgreSQL. The window of a key begins with its
 * first request.
 */
@Injectable()
export class QuotaStore {
  private readonly logger = new Logger(QuotaStore.name);
  private readonly redis: RedisClient | undefined;
  private readonly limiter: RateLimiterPostgres | RateLimiterRedis;
  private readonly sweeps: PeriodicTask | undefined;

  constructor(config: AppConfig, @InjectDataSource() dataSource: DataSource) {
    // The limit of a key can change during its window, so the library only counts.
    const options = { keyPrefix: 'limit', points: Number.MAX_SAFE_INTEGER, duration: WINDOW_S };
    if (config.redis === undefined) {
      this.limiter = new RateLimiterPostgres({
        ...options,
        storeClient: dataSource,
        storeType: 'typeorm',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
      });
      this.sweeps = new PeriodicTask(
        () => dataSource.query('DELETE FROM rate_limits WHERE expire < $1', [Date.now()]),
        {
          pauseMs: SWEEP_EVERY_MS,
          isSpread: true,
          onError: (error) => this.logger.warn({ err: error }, 'Expired rate limits could not be deleted'),
        },
      );
      this.sweeps.start();
    } else {
      this.redis = openRedis(config.redis, {
        lazyConnect: true,
        connectTimeout: ANSWER_WITHIN_MS,
        commandTimeout: ANSWER_WITHIN_MS,
        maxRetriesPerRequest: 0,
        keepAlive: 10_000,
        retryStrategy: () => 200,
      });
      // Callers see the errors of their commands. Without a listener, ioredis prints connection errors.
      this.redis.on('error', () => undefined);
      this.limiter = new RateLimiterRedis({ ...options, keyPrefix: 'sbx:limit', storeClient: this.redis });
    }
  }

  /** Adds requests to the count of a key. Rejects if the store does not answer within a second. */
  async add(key: string, requests: number): Promise<WindowCount> {
    const counted: Promise<RateLimiterRes> = this.limiter.penalty(key, requests);
    const { consumedPoints, msBeforeNext } = await withTimeout(counted, ANSWER_WITHIN_MS, () => {
      throw new Error('The store of the rate limits does not answer.');
    });
    return { count: consumedPoints, endsInMs: Math.max(0, msBeforeNext) };
  }

  /** `RateLimits` calls it, after it has returned the leases of this process. */
  async close(): Promise<void> {
    await this.sweeps?.stop();
    this.redis?.disconnect();
  }
}
