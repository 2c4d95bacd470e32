import type { ClientConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DatabaseClient } from './database-client.js';
import { storageUnavailable } from './domain-error.js';

/** How many statements one connection can have without a result. */
const MAX_PENDING = 2_000;

interface PipelinedConnectionsOptions {
  /** Needs `connectionTimeoutMillis` and `query_timeout`, in milliseconds: nobody else ends a silent connection. */
  readonly config: ClientConfig;
  readonly connections: number;
  /** Prepares a new connection, before its first statement. */
  readonly onConnect?: (client: DatabaseClient) => Promise<unknown>;
}

/**
 * A few database connections that concurrent statements share. Each statement is sent without waiting for the results
 * of those before it, and the statements of one tick are sent in one write. Under load this costs less than half of
 * what a pool costs, which wakes up another server process for each statement.
 *
 * For short statements that form their own transaction and wait for neither long locks nor the disk: a statement delays
 * those behind it. A lost connection rejects its statements with the driver's error and is replaced on the next use.
 * Statements are refused with DomainError `storage_unavailable` while too many have no result.
 */
export class PipelinedConnections {
  private readonly connections: PipelinedConnection[];

  constructor(options: PipelinedConnectionsOptions) {
    this.connections = Array.from({ length: options.connections }, () => new PipelinedConnection(options));
  }

  query<R extends QueryResultRow>(query: QueryConfig<unknown[]>): Promise<QueryResult<R>> {
    const least = this.connections.reduce((best, other) => (other.pending < best.pending ? other : best));
    if (least.pending >= MAX_PENDING) return Promise.reject(storageUnavailable());
    return least.query<R>(query);
  }

  /** Closes the connections, once their statements are answered. Later statements reject. */
  async end(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.end()));
  }
}

class PipelinedConnection {
  /** The number of statements without a result. */
  pending = 0;
  private client: DatabaseClient | undefined;
  private opening: Promise<DatabaseClient> | undefined;
  private isEnded = false;

  constructor(private readonly options: PipelinedConnectionsOptions) {}

  async query<R extends QueryResultRow>(query: QueryConfig<unknown[]>): Promise<QueryResult<R>> {
    this.pending += 1;
    try {
      const client = this.client ?? (await (this.opening ??= this.open()));
      holdWrites(client);
      return await client.query<R>(query);
    } finally {
      this.pending -= 1;
    }
  }

  async end(): Promise<void> {
    this.isEnded = true;
    const client = this.client ?? (await this.opening?.catch(() => undefined));
    await client?.end();
  }

  private async open(): Promise<DatabaseClient> {
    const client = new DatabaseClient({ ...this.options.config, pipeline: true } as ClientConfig);
    const forget = (): void => {
      if (this.client === client) this.client = undefined;
    };
    client.once('error', forget);
    client.once('end', forget);
    try {
      if (this.isEnded) throw new Error('Connection terminated');
      await client.connect();
      await this.options.onConnect?.(client);
      this.client = client;
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    } finally {
      this.opening = undefined;
    }
  }
}

const held = new WeakSet<DatabaseClient>();

/** Collects what is written until the end of this tick. */
function holdWrites(client: DatabaseClient): void {
  if (held.has(client)) return;
  held.add(client);
  const { stream } = client.connection;
  stream.cork();
  process.nextTick(() => {
    held.delete(client);
    stream.uncork();
  });
}
