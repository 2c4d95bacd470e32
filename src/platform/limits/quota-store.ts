import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { withTimeout } from '../../core/with-timeout.js';
import { AppConfig } from '../../core/config/app-config.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { type WindowCount, WindowCounts } from '../database/window-counts.js';
import { openRedis, type RedisClient } from '../redis/open-redis.js';

/** The length of a window, in seconds. */
export const WINDOW_S = 60;

/** A request waits for the count at most this long. */
const ANSWER_WITHIN_MS = 1_000;

/**
 * The counts of all processes: in Redis if `REDIS_URL` is set, otherwise in PostgreSQL. The window of a key begins with
 * its first request.
 */
@Injectable()
export class QuotaStore implements OnApplicationShutdown {
  private readonly redis: RedisClient | undefined;
  private readonly count: (key: string, requests: number) => Promise<WindowCount>;
  private readonly counts: WindowCounts;

  constructor(config: AppConfig, statements: PreparedStatements) {
    this.counts = new WindowCounts(statements, 'rate_limits');
    if (config.redis === undefined) {
      this.count = (key, requests) => this.counts.add(`limit:${key}`, requests, WINDOW_S);
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
      // The limit of a key can change during its window, so the library only counts.
      const options = { keyPrefix: 'sbx:limit', points: Number.MAX_SAFE_INTEGER, duration: WINDOW_S };
      const limiter = new RateLimiterRedis({ ...options, storeClient: this.redis });
      this.count = async (key, requests) => {
        const { consumedPoints, msBeforeNext } = await limiter.penalty(key, requests);
        return { count: consumedPoints, endsInMs: Math.max(0, msBeforeNext) };
      };
    }
  }

  /** Adds requests to the count of a key. Rejects if the store does not answer within a second. */
  add(key: string, requests: number): Promise<WindowCount> {
    return withTimeout(this.count(key, requests), ANSWER_WITHIN_MS, () => {
      throw new Error('The store of the rate limits does not answer.');
    });
  }

  @DeletesExpired('rate limits')
  deleteExpired(): Promise<number> {
    return this.counts.deleteExpired();
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }
}
