import { DataSource } from 'typeorm';
import { DatabaseClient } from '../../core/database-client.js';
import { dataSourceOptions } from './data-source-options.js';

/** Advisory lock that serializes migrating processes; spells "SBOX". */
const MIGRATION_LOCK = 0x53424f58;

/** The schema uses `UNIQUE NULLS NOT DISTINCT`. */
const MIN_MAJOR_VERSION = 15;

/** The PostgreSQL server is too old. */
export class DatabaseVersionError extends Error {
  override readonly name = 'DatabaseVersionError';
}

/** @param version as `server_version_num` has it: 150004 is 15.4 @throws DatabaseVersionError */
export function requireVersion(version: number): void {
  const major = Math.floor(version / 10_000);
  if (major >= MIN_MAJOR_VERSION) return;
  throw new DatabaseVersionError(
    `The database of DATABASE_URL is PostgreSQL ${major}; Signalbox requires PostgreSQL ${MIN_MAJOR_VERSION} or later.`,
  );
}

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
