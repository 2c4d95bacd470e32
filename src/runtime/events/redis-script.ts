import { createHash } from 'node:crypto';
import type { RedisClient } from '../../platform/redis/open-redis.js';

/** A Lua script that the server runs atomically. Sent by its hash, or in full if the server has not cached it. */
export class RedisScript {
  private readonly sha1: string;

  constructor(private readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  async run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.sha1, keys.length, ...keys, ...values);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
        return redis.eval(this.source, keys.length, ...keys, ...values);
      }
      throw error;
    }
  }
}
