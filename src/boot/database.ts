import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EncryptionKey, generateEncryptionKey, parseEncryptionKeys } from '../core/config/encryption-keys.js';
import type { Settings } from '../core/config/settings.js';
import { startEmbeddedPostgres, attachEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.js';
import { ConfigError } from '../core/config/env-reader.js';

/** The database in use with the keys of its vault, and the function that stops an embedded one. */
export interface Database {
  readonly databaseUrl: string;
  readonly encryptionKeys: readonly EncryptionKey[];
  stop(): Promise<void>;
}

/** The configured database: at `DATABASE_URL`, or embedded below `DATA_DIR`, which this process starts and owns. */
export async function openDatabase(settings: Settings, log: (line: string) => void): Promise<Database> {
  const embedded =
    settings.databaseUrl === undefined ? await startEmbeddedPostgres({ dataDir: settings.dataDir, log }) : undefined;
  const stop = async (): Promise<void> => embedded?.stop();
  try {
    return {
      databaseUrl: settings.databaseUrl ?? embedded?.url ?? '',
      encryptionKeys: settings.encryptionKeys ?? (await ownEncryptionKeys(settings.dataDir)),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The embedded installation's key, created once and readable only by its owner. Stored credentials are lost without it.
 */
async function ownEncryptionKeys(dataDir: string): Promise<readonly EncryptionKey[]> {
  const file = join(dataDir, 'encryption.key');
  // `wx` does not overwrite an existing key.
  await writeFile(file, `${generateEncryptionKey('local')}\n`, { mode: 0o600, flag: 'wx' }).catch(ignoreExisting);
  return parseEncryptionKeys((await readFile(file, 'utf8')).trim());
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

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
