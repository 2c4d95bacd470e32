import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EncryptionKey, generateEncryptionKey, parseEncryptionKeys } from '../core/config/encryption-keys.js';
import type { Settings } from '../core/config/settings.js';
import { startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.js';

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
