import { AppConfig } from '../core/config/app-config.js';
import type { Settings } from '../core/config/settings.js';
import { migrate } from '../platform/database/migrate.js';
import { migrateQueue } from '../platform/queue/migrate-queue.js';
import { openDatabase } from './database.js';

/** The application's open storage and the function that closes it. */
export interface Storage {
  config: AppConfig;
  stop(): Promise<void>;
}

/** Opens the configured database and migrates its schema. */
export async function openStorage(settings: Settings, log: (line: string) => void): Promise<Storage> {
  const { stop, ...resolved } = await openDatabase(settings, log);
  try {
    await migrateStorage(settings, resolved.databaseUrl);
    return { config: new AppConfig(settings, resolved), stop };
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
