import type { DataSourceOptions } from 'typeorm';
import { DatabaseClient } from '../common/database-client.js';
import { MIGRATIONS } from './migrations.js';
import { PostgresNaming } from './postgres-naming.js';

/** Also for a connection of the pool to come free. */
const CONNECT_WITHIN_MS = 3_000;

/** How TypeORM reaches the database; shared by the application and the CLI (`ormconfig.ts`). The schema changes by migrations only. */
export function dataSourceOptions(url: string): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url,
    synchronize: false,
    migrationsRun: false,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    namingStrategy: new PostgresNaming(),
    poolSize: 20,
    connectTimeoutMS: CONNECT_WITHIN_MS,
    applicationName: 'signalbox',
    extra: { Client: DatabaseClient },
  };
}
