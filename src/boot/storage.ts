import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppConfig } from '../config/app-config.js';
import { type EncryptionKey, generateEncryptionKey, parseEncryptionKeys } from '../config/encryption-keys.js';
import type { Settings } from '../config/settings.js';
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import { migrate } from '../database/migrate.js';
import { migrateQueue } from '../queue/migrate-queue.js';

/** The storage that the application stands on, ready to use, and how to let go of it. */
export interface Storage {
  config: AppConfig;
  stop(): Promise<void>;
}

/**
 * Opens what the settings name: the database at `DATABASE_URL`, or the embedded one below `DATA_DIR`; then brings its
 * schema up to date.
 */
export async function openStorage(settings: Settings, log: (line: string) => void): Promise<Storage> {
  const embedded =
    settings.databaseUrl === undefined ? await startEmbeddedPostgres({ dataDir: settings.dataDir, log }) : undefined;
  const stop = async (): Promise<void> => embedded?.stop();
  try {
    const databaseUrl = settings.databaseUrl ?? embedded?.url ?? '';
    const encryptionKeys = settings.encryptionKeys ?? (await ownEncryptionKeys(settings.dataDir));
    await migrate(databaseUrl);
    if (settings.redisUrl === undefined) await migrateQueue(databaseUrl);
    return { config: new AppConfig(settings, { databaseUrl, encryptionKeys }), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The embedded installation's own key: made once, readable by its owner only. Without it stored credentials are lost. */
async function ownEncryptionKeys(dataDir: string): Promise<readonly EncryptionKey[]> {
  const file = join(dataDir, 'encryption.key');
  // `wx` leaves a key that is already there untouched.
  await writeFile(file, `${generateEncryptionKey('local')}\n`, { mode: 0o600, flag: 'wx' }).catch(ignoreExisting);
  return parseEncryptionKeys((await readFile(file, 'utf8')).trim());
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
