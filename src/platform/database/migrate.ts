import { DataSource } from 'typeorm';
import { DatabaseClient } from '../../core/database-client.js';
import { dataSourceOptions } from './data-source-options.js';
import { requireVersion } from './migrations/database-version.js';

/** Advisory lock that serializes migrating processes; spells "SBOX". */
const MIGRATION_LOCK = 0x53424f58;

/**
 * Migrates the database to the newest schema. Any number of processes can call it at once; one migrates and the others
 * wait for it.
 * @throws DatabaseVersionError
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new DatabaseClient({ connectionString: databaseUrl, application_name: 'signalbox-migrate' });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
    requireVersion(Number(rows[0]?.version));
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const dataSource = await new DataSource(dataSourceOptions(databaseUrl)).initialize();
    try {
      await dataSource.runMigrations({ transaction: 'each' });
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await client.end();
  }
}
