import { runMigrations } from 'bullmq';
import { DatabaseClient } from '../../core/database-client.js';

/** Creates or updates BullMQ's schema (`bullmq`). BullMQ's migrator serializes concurrent callers. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new DatabaseClient({ connectionString: databaseUrl, application_name: 'signalbox-migrate' });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
