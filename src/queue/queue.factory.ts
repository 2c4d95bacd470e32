import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { createPostgresBackend, type Processor, Queue, Worker, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { DatabaseClient } from '../common/database-client.js';
import { endsWithin } from '../common/ends-within.js';
import { AppConfig } from '../config/app-config.js';

const CONNECT_WITHIN_MS = 3_000;
/** A server that is away says no goodbye. */
const CLOSE_WITHIN_MS = 500;
const REDIS_PREFIX = 'sbx-queue';

/**
 * Opens BullMQ queues and workers on the backend that the configuration names: Redis (or Valkey) when `REDIS_URL` is
 * set, else PostgreSQL. The backend is passed to each of them, not set process-wide, so that both can live in one process.
 */
@Injectable()
export class QueueFactory implements OnApplicationShutdown {
  private readonly logger = new Logger(QueueFactory.name);
  private readonly closers: (() => Promise<unknown>)[] = [];

  constructor(private readonly config: AppConfig) {}

  /** A producer. A finished job is removed at once: the run's row is the record, and its id becomes free again. */
  queue<T>(name: string): Queue<T> {
    const queue = this.open<Queue<T>>(
      (connection) =>
        new Queue<T>(name, { connection, prefix: REDIS_PREFIX, defaultJobOptions: FINISHED_JOBS_ARE_REMOVED }),
      (connection) =>
        new Queue(
          name,
          { connection, defaultJobOptions: FINISHED_JOBS_ARE_REMOVED },
          createPostgresBackend,
        ) as unknown as Queue<T>,
    );
    queue.on('error', this.complain);
    return this.keep(queue);
  }

  /** A consumer; it starts when `run()` is called. */
  worker<T>(
    name: string,
    process: Processor<T, void>,
    options: Omit<WorkerOptions, 'connection' | 'prefix'>,
  ): Worker<T, void> {
    const worker = this.open<Worker<T, void>>(
      (connection) =>
        new Worker<T, void>(name, process, { ...options, autorun: false, connection, prefix: REDIS_PREFIX }),
      (connection) =>
        new Worker(
          name,
          process,
          { ...options, autorun: false, connection },
          createPostgresBackend,
        ) as unknown as Worker<T, void>,
    );
    worker.on('error', this.complain);
    return this.keep(worker);
  }

  async onApplicationShutdown(): Promise<void> {
    for (const close of this.closers.toReversed()) await endsWithin(CLOSE_WITHIN_MS, close());
    this.closers.length = 0;
  }

  private open<R>(onRedis: (connection: Redis) => R, onPostgres: (pool: Pool) => R): R {
    if (this.config.redisUrl !== undefined) {
      const redis = new Redis(this.config.redisUrl, { maxRetriesPerRequest: null, lazyConnect: false });
      redis.on('error', (error) => this.logger.warn(`The queue lost its Redis connection: ${error.message}`));
      this.closers.push(async () => redis.disconnect());
      return onRedis(redis);
    }
    const pool = new Pool({
      connectionString: this.config.databaseUrl,
      application_name: 'signalbox-queue',
      // A job need not wait for the disk: one that is lost with the server is asked for again by the run's row.
      options: '-c search_path=bullmq -c synchronous_commit=off',
      keepAlive: true,
      Client: DatabaseClient,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      max: 6,
    });
    pool.on('error', (error) => this.logger.warn(`The queue lost a database connection: ${error.message}`));
    this.closers.push(() => pool.end());
    return onPostgres(pool);
  }

  private keep<Q extends { close(): Promise<void> }>(queue: Q): Q {
    this.closers.push(() => queue.close());
    return queue;
  }

  private complain = (error: Error): void => {
    this.logger.warn(`The queue reports: ${error.message}`);
  };
}

const FINISHED_JOBS_ARE_REMOVED = { removeOnComplete: true, removeOnFail: true };
