import { type DataSourceOptions, DefaultNamingStrategy, type Table } from 'typeorm';
import pg from 'pg';
import { DatabaseClient } from '../../core/database-client.js';
import { BoundedPool } from './bounded-pool.js';
import { allMigrations } from './migrations.module.js';

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
