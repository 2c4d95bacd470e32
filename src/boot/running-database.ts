import { attachEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import { ConfigError } from '../config/env-reader.js';
import type { Settings } from '../config/settings.js';

/**
 * The database for a command that runs next to the service: at `DATABASE_URL`, or the embedded one of the service that runs on
 * `DATA_DIR`.
 * @throws ConfigError if there is none
 */
export async function runningDatabaseUrl({ databaseUrl, dataDir }: Settings): Promise<string> {
  const url = databaseUrl ?? (await attachEmbeddedPostgres(dataDir))?.url;
  if (url !== undefined) return url;
  throw new ConfigError(
    `DATABASE_URL is not set and no service runs on DATA_DIR (${dataDir}). Set DATABASE_URL, or start the service and try again.`,
  );
}
