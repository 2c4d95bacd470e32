import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attachEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.js';
import { type EncryptionKey, parseEncryptionKeys } from '../core/config/encryption-keys.js';
import { ConfigError } from '../core/config/env-reader.js';
import type { Settings } from '../core/config/settings.js';

/**
 * The database for a command that runs next to the service: at `DATABASE_URL`, or the embedded one of the service that
 * runs on `DATA_DIR`.
 * @throws ConfigError if there is none
 */
export async function runningDatabaseUrl({ databaseUrl, dataDir }: Settings): Promise<string> {
  const url = databaseUrl ?? (await attachEmbeddedPostgres(dataDir))?.url;
  if (url !== undefined) return url;
  throw new ConfigError(
    `DATABASE_URL is not set and no service runs on DATA_DIR (${dataDir}). Set DATABASE_URL, or start the service ` +
      'and try again.',
  );
}

/**
 * The key ring of the service: `ENCRYPTION_KEYS`, or the one that an embedded installation created at its first start.
 * @throws ConfigError if there is none
 */
export async function installedKeys({ encryptionKeys, dataDir }: Settings): Promise<readonly EncryptionKey[]> {
  if (encryptionKeys !== undefined) return encryptionKeys;
  const text = await readFile(join(dataDir, 'encryption.key'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new ConfigError(`ENCRYPTION_KEYS is not set and DATA_DIR (${dataDir}) does not contain encryption.key.`);
  });
  return parseEncryptionKeys(text.trim());
}
