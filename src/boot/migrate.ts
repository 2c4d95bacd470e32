/**
 * `npm run migration:run` (in an image: `node dist/boot/migrate.js`): brings the database at `DATABASE_URL`, or the
 * embedded one of the service that runs on `DATA_DIR`, to the newest schema, including that of the queue unless
 * `REDIS_URL` is set. Every start does the same, so that the command is for installations that migrate before they
 * replace their processes.
 */
// Loading the modules registers the migrations of extensions.
import '../app.module.js';
import { readSettings } from '../core/config/settings.js';
import { runningDatabaseUrl } from './database.js';
import { migrateStorage } from './storage.js';
import { sentenceFor } from './start-failure.js';

try {
  const settings = readSettings(process.env);
  await migrateStorage(settings, await runningDatabaseUrl(settings));
  process.stdout.write('The database has the newest schema.\n');
} catch (error) {
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exitCode = 1;
}
