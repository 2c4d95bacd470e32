/**
 * `npm run vault:rotate`: re-encrypts stored secrets under the first key of `ENCRYPTION_KEYS`, while a service is
 * running. Uses the database at `DATABASE_URL`, or the embedded one of the service that runs on `DATA_DIR`. Exits with
 * 0 if the first key alone opens every envelope, otherwise with 1.
 */
import { DatabaseClient } from '../core/database-client.js';
import { toDomainError } from '../core/to-domain-error.js';
import type { EncryptionKey } from '../core/config/encryption-keys.js';
import { readSettings } from '../core/config/settings.js';
import { SEALED_COLUMNS, type SealedColumn } from '../platform/vault/sealed-columns.js';
import { rotateColumn, type UnreadableEnvelope } from '../platform/vault/vault-rotation.js';
import { VaultService } from '../platform/vault/vault.service.js';
import { installedKeys, runningDatabaseUrl } from './database.js';
import { sentenceFor } from './start-failure.js';

try {
  const settings = readSettings(process.env);
  const databaseUrl = await runningDatabaseUrl(settings);
  const keys = await installedKeys(settings);
  process.exitCode = (await rotate(databaseUrl, keys)) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exitCode = 1;
}

/** Returns whether the first key opens every envelope. */
async function rotate(databaseUrl: string, keys: readonly EncryptionKey[]): Promise<boolean> {
  const client = new DatabaseClient({ connectionString: databaseUrl, application_name: 'signalbox-vault-rotate' });
  // A lost connection fails the current query. Without a listener, its error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const vault = new VaultService(keys);
    process.stdout.write(`Re-encrypting under the key "${keys[0]?.id}".\n`);
    let isComplete = true;
    for (const column of Object.values(SEALED_COLUMNS)) {
      const { resealed, current, unreadable } = await rotateColumn(client, vault, column);
      process.stdout.write(
        `${nameOf(column)}: ${resealed} re-encrypted, ${current} already current, ${unreadable.length} cannot be ` +
          'decrypted\n',
      );
      for (const envelope of unreadable) process.stderr.write(`${describeUnreadable(column, envelope)}\n`);
      isComplete &&= unreadable.length === 0;
    }
    return isComplete;
  } catch (error) {
    if (toDomainError(error).code !== 'storage_unavailable') throw error;
    process.stderr.write(
      'The connection to the database was lost. Run the command again to re-encrypt the remaining rows.\n',
    );
    return false;
  } finally {
    await client.end();
  }
}

function describeUnreadable(column: SealedColumn, { id, missingKeyId }: UnreadableEnvelope): string {
  const reason =
    missingKeyId === undefined
      ? 'the stored value is malformed, was modified, or belongs to another row'
      : `its key "${missingKeyId}" is not in ENCRYPTION_KEYS`;
  return `${nameOf(column)} of ${id} cannot be decrypted: ${reason}.`;
}

function nameOf({ table, column }: SealedColumn): string {
  return `${table}.${column}`;
}
