import {
  type BackendFactory,
  type ConnectionOptions,
  createIORedisClient,
  createRedisBackend,
  DEFAULT_SCHEMA,
  PostgresConnection,
  type PostgresPoolConfig,
  PostgresQueueBackend,
  type QueueOptions,
  quoteSchemaName,
  RedisConnection,
  type RedisQueueBackend,
} from 'bullmq';
import { Pool, type PoolClient } from 'pg';
import { DatabaseClient } from '../../core/database-client.js';
import type { AppConfig } from '../../core/config/app-config.js';
import type { RedisAddress } from '../../core/config/redis-address.js';
import { openRedis } from '../redis/open-redis.js';

const CONNECT_WITHIN_MS = 3_000;
/** Limit of PostgreSQL connections of one queue or worker, including the listening one. */
const MAX_CONNECTIONS = 6;
/** A listening connection that was dropped silently is found out this soon. */
const KEEP_ALIVE_AFTER_MS = 10_000;
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
    : createRedisBackend(name, opts, needs);

const openPostgres: BackendFactory<PostgresQueueBackend> = (name, opts, { withBlockingConnection = false } = {}) => {
  const options = { ...opts, connection: opts.connection as PostgresPoolConfig };
  const connection = new QueueConnection(new Pool({ ...options.connection, max: MAX_CONNECTIONS }));
  return new PostgresQueueBackend(connection, name, options, true, withBlockingConnection ? name : undefined);
};

/**
 * A connection of BullMQ on a pool of ours: BullMQ's own would listen with a client whose early errors end the process.
 */
class QueueConnection extends PostgresConnection {
  private readonly open = new Set<PoolClient>();
  private ended: Promise<void> | undefined;

  constructor(private readonly clients: Pool) {
    super(clients);
    clients.on('connect', (client) => this.open.add(client)).on('remove', (client) => this.open.delete(client));
  }

  /**
   * BullMQ checks its schema once and caches a failure: if the first connection failed, every later operation would
   * fail too, and a worker would spin without yielding. The schema is migrated before the application starts.
   */
  override async waitUntilReady(): Promise<void> {}

  override close(): Promise<void> {
    this.ended ??= super.close().then(() => this.endClients());
    return this.ended;
  }

  /** A pool does not wait until its connections have ended. */
  private async endClients(): Promise<void> {
    await this.clients.end();
    while (this.open.size > 0) await new Promise((resolve) => this.clients.once('remove', resolve));
  }
}

/** What BullMQ hands to the client factory for each connection that it opens, and closes. */
interface QueueRedisOptions {
  readonly address: RedisAddress;
  readonly maxRetriesPerRequest: null;
  /**
   * BullMQ would ask the server for its version once and cache a failure: if Redis refused the first commands (a wrong
   * password, a cluster without a master), every later operation would fail too.
   */
  readonly skipVersionCheck: true;
  /** Set by BullMQ for the connection on which a worker waits. */
  readonly connectionName?: string;
}

function redisOptions(address: RedisAddress): ConnectionOptions {
  const options: QueueRedisOptions = { address, maxRetriesPerRequest: null, skipVersionCheck: true };
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

/** The options of the pool that each queue and each worker opens. */
function postgresPool(connectionString: string): ConnectionOptions {
  return {
    connectionString,
    application_name: 'signalbox-queue',
    // Jobs do not need durable commits: a run whose wake-up was lost is found in the database.
    options: `-c synchronous_commit=off -c search_path=${quoteSchemaName(DEFAULT_SCHEMA)}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    Client: DatabaseClient,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
  };
}

function isPostgres(connection: ConnectionOptions): boolean {
  return 'connectionString' in connection;
}
