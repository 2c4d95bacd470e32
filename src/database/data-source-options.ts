import type { DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from './migrations.js';
import { PostgresNaming } from './postgres-naming.js';

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
    connectTimeoutMS: 10_000,
    applicationName: 'signalbox',
  };
}
