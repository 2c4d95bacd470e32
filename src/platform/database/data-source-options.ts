import { type DataSourceOptions, DefaultNamingStrategy, type Table } from 'typeorm';
import pg, { Pool, type PoolClient } from 'pg';
import { DatabaseClient } from '../../core/database-client.js';
import { allMigrations } from './migrations.module.js';
import { storageUnavailable } from '../../core/domain-error.js';

/** How many statements or transactions can wait for a connection. Each of them holds a request with its body. */
export const MAX_WAITING = 2_000;

type ConnectCallback = Parameters<Pool['connect']>[0];

/**
 * A pool that refuses at once when too many wait for a connection already. While the database is slow, requests would
 * otherwise pile up faster than they time out.
 */
class BoundedPool extends Pool {
  /** Rejects with DomainError `storage_unavailable` if too many wait, otherwise as `pg.Pool` does. */
  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (this.waitingCount < MAX_WAITING) return callback === undefined ? super.connect() : super.connect(callback);
    const refused = storageUnavailable();
    if (callback === undefined) return Promise.reject(refused);
    process.nextTick(callback, refused, undefined, () => undefined);
    return undefined;
  }
}

/** Also limits the wait for a free connection of the pool. */
const CONNECT_WITHIN_MS = 3_000;
/**
 * Connections that stay open when they are idle. A handshake takes several turns of the event loop: a process that
 * hardly gets processor time could not open one within the limit above, and would refuse callers whose credential it
 * has to read.
 */
const KEPT_CONNECTIONS = 5;

/**
 * How TypeORM connects to the database; shared by the application and the CLI (`ormconfig.ts`). Only migrations change
 * the schema.
 */
export function dataSourceOptions(url: string): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url,
    synchronize: false,
    migrationsRun: false,
    migrations: allMigrations(),
    migrationsTableName: 'migrations',
    namingStrategy: new PostgresNaming(),
    driver: { ...pg, Pool: BoundedPool },
    poolSize: 20,
    connectTimeoutMS: CONNECT_WITHIN_MS,
    applicationName: 'signalbox',
    // Without keep-alive, a network in between could drop an idle connection without a word.
    extra: { Client: DatabaseClient, min: KEPT_CONNECTIONS, keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
  };
}

/**
 * Names constraints as PostgreSQL does for statements without names, so that entities and migrations agree without
 * explicit names. Checks and indexes are named where they are declared.
 */
class PostgresNaming extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${this.getTableName(table)}_pkey`;
  }

  override foreignKeyName(table: Table | string, columnNames: string[]): string {
    return `${this.getTableName(table)}_${columnNames.join('_')}_fkey`;
  }

  override uniqueConstraintName(table: Table | string, columnNames: string[]): string {
    return `${this.getTableName(table)}_${columnNames.join('_')}_key`;
  }
}
