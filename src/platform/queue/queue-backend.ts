import {
  type BackendFactory,
  type ConnectionOptions,
  createIORedisClient,
  createPostgresBackend,
  createRedisBackend,
  type QueueOptions,
  RedisConnection,
  type RedisQueueBackend,
} from 'bullmq';
import { retry } from '../../core/retry.js';
import { DatabaseClient } from '../../core/database-client.js';
import type { AppConfig } from '../../core/config/app-config.js';
import type { RedisAddress } from '../../core/config/redis-address.js';
import { openRedis } from '../redis/open-redis.js';

const CONNECT_WITHIN_MS = 3_000;
/** Limit of PostgreSQL connections of one queue or worker, including the listening one. */
const MAX_CONNECTIONS = 6;
/** The hash tag puts all keys of the queues into one slot of a cluster: BullMQ's scripts use several at once. */
export const QUEUE_PREFIX = '{sbx-queue}';
const LONGEST_RECONNECT_DELAY_MS = 2_000;

/**
 * The options of all queues and workers of an application: Redis (or Valkey) if `REDIS_URL` is set, otherwise
 * PostgreSQL. Finished jobs are removed immediately: the database row is the record, and the job id becomes reusable.
 */
export function queueOptions({ redis, databaseUrl }: Pick<AppConfig, 'redis' | 'databaseUrl'>): QueueOptions {
  return {
    connection: redis === undefined ? postgresPool(databaseUrl) : redisOptions(redis),
    prefix: QUEUE_PREFIX,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  };
}

/**
 * Opens the backend for `opts.connection`. Each queue and worker receives this factory as a constructor argument, so
 * that applications on different backends can share a process.
 */
export const openBackend: BackendFactory<RedisQueueBackend> = (name, opts, needs) =>
  isPostgres(opts.connection)
    ? // Nest's types know the Redis backend only. Nothing here uses more of a backend than both offer.
      (openPostgres(name, opts, needs) as unknown as RedisQueueBackend)
    : openOnRedis(name, opts, needs);

const openOnRedis: BackendFactory<RedisQueueBackend> = (name, opts, needs) => {
  const backend = createRedisBackend(name, opts, needs);
  const { connection, blockingConnection } = backend as unknown as Record<string, VersionedConnection | undefined>;
  for (const one of [connection, blockingConnection]) if (one !== undefined) readVersionPatiently(one);
  return backend;
};

/** BullMQ's connection, with members that its types hide. */
interface VersionedConnection {
  readonly closing: boolean | undefined;
  getRedisVersionAndType(): Promise<unknown>;
}

/**
 * BullMQ asks the server for its version once and caches a failure: if Redis refused the first commands (a wrong
 * password, a cluster without a master), every later operation would fail too, and a worker would spin without
 * yielding.
 */
function readVersionPatiently(connection: VersionedConnection): void {
  const read = connection.getRedisVersionAndType.bind(connection);
  connection.getRedisVersionAndType = () => retry(read, { isRetryable: () => connection.closing !== true });
}

const openPostgres: BackendFactory<ReturnType<typeof createPostgresBackend>> = (name, opts, needs = {}) => {
  // A worker listens on a separate connection outside its pool.
  const max = needs.withBlockingConnection === true ? MAX_CONNECTIONS - 1 : MAX_CONNECTIONS;
  const backend = createPostgresBackend(name, { ...opts, connection: { ...opts.connection, max } }, needs);
  Object.assign(backend.connection, {
    // BullMQ builds that connection with the `Client` of `pg`, for which it has no option: an error before BullMQ's
    // listener is attached would end the process.
    pgModule: { Client: DatabaseClient },
    // BullMQ checks its schema once and caches a failure: if the first connection failed, every later operation would
    // fail too, and a worker would spin without yielding. The schema is migrated before the application starts.
    waitUntilReady: () => Promise.resolve(),
  });
  return backend;
};

/** What BullMQ hands to the client factory for each connection that it opens, and closes. */
interface QueueRedisOptions {
  readonly address: RedisAddress;
  readonly maxRetriesPerRequest: null;
  /** Set by BullMQ for the connection on which a worker waits. */
  readonly connectionName?: string;
}

function redisOptions(address: RedisAddress): ConnectionOptions {
  const options: QueueRedisOptions = { address, maxRetriesPerRequest: null };
  return options as ConnectionOptions;
}

// BullMQ itself opens connections to single servers and Sentinels only. Process-wide, as it has no other place for a
// factory.
RedisConnection.clientFactory = (options) => {
  const { address, connectionName } = options as unknown as QueueRedisOptions;
  return createIORedisClient(
    openRedis(address, {
      maxRetriesPerRequest: null,
      ...(connectionName !== undefined && { connectionName }),
      // BullMQ's default strategy waits for up to 20 s.
      retryStrategy: (times) => Math.min(times * 50, LONGEST_RECONNECT_DELAY_MS),
    }),
  );
};

/** Pool options instead of a pool: BullMQ opens the pool, sets its `search_path`, and closes it. */
function postgresPool(connectionString: string): ConnectionOptions {
  return {
    connectionString,
    application_name: 'signalbox-queue',
    // Jobs do not need durable commits: a lost job is enqueued again from the row of its run.
    options: '-c synchronous_commit=off',
    keepAlive: true,
    Client: DatabaseClient,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
  };
}

function isPostgres(connection: ConnectionOptions): boolean {
  return 'connectionString' in connection;
}
