import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { readSettings } from '../../core/config/settings.js';
import { dataSourceOptions } from './data-source-options.js';
import { attachEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';

/** The data source of the TypeORM command line: `DATABASE_URL`, or the embedded database of a running service. */
export async function openCliDataSource(): Promise<DataSource> {
  const { databaseUrl, dataDir } = readSettings(process.env);
  const url = databaseUrl ?? (await attachEmbeddedPostgres(dataDir))?.url;
  if (url === undefined) throw new Error('Set DATABASE_URL, or start the service so that its embedded database runs.');
  return new DataSource({ ...dataSourceOptions(url), entities: [join(import.meta.dirname, '../../**/*.entity.js')] });
}
