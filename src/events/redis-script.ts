import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** A Lua script that the server runs as one step; sent by its hash, and in full when the server does not hold it (yet). */
export class RedisScript {
  private readonly sha1: string;

  constructor(private readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  async run(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
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
