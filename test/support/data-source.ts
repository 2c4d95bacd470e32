import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/data-source-options.js';
import { createTestDatabase } from './database.js';

/** A database after all migrations, as the service connects to it. See `useStarted`. */
export async function startDataSource(): Promise<{ dataSource: DataSource; close(): Promise<void> }> {
  const database = await createTestDatabase();
  const dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
  return {
    dataSource,
    async close() {
      await dataSource.destroy();
      await database.drop();
    },
  };
}
