import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppConfig } from '../core/config/app-config.js';
import { type EncryptionKey, generateEncryptionKey, parseEncryptionKeys } from '../core/config/encryption-keys.js';
import type { Settings } from '../core/config/settings.js';
import { startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../platform/database/migrate.js';
import { migrateQueue } from '../platform/queue/migrate-queue.js';

/** The application's open storage and the function that closes it. */
export interface Storage {
  config: AppConfig;
  stop(): Promise<void>;
}

/**
 * Opens the configured database, at `DATABASE_URL` or embedded below `DATA_DIR`, and migrates its schema.
 */
export async function openStorage(settings: Settings, log: (line: string) => void): Promise<Storage> {
  const embedded =
    settings.databaseUrl === undefined ? await startEmbeddedPostgres({ dataDir: settings.dataDir, log }) : undefined;
  const stop = async (): Promise<void> => embedded?.stop();
  try {
    const databaseUrl = settings.databaseUrl ?? embedded?.url ?? '';
    const encryptionKeys = settings.encryptionKeys ?? (await ownEncryptionKeys(settings.dataDir));
    await migrateStorage(settings, databaseUrl);
    return { config: new AppConfig(settings, { databaseUrl, encryptionKeys }), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Migrates the schema of the service and, unless Redis has the queue, that of the queue. Any number of processes can
 * call it at once.
 */
export async function migrateStorage({ redis }: Settings, databaseUrl: string): Promise<void> {
  await migrate(databaseUrl);
  if (redis === undefined) await migrateQueue(databaseUrl);
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
