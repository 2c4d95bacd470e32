/**
 * `npm run oauth:rotate`: adds a key with which the authorization server signs ID tokens from now on. The key before it
 * stays published, and older ones are deleted. Running services use the new key within 30 seconds. Uses the database
 * and the encryption keys as `npm run vault:rotate` does.
 */
import { DataSource } from 'typeorm';
import { readSettings } from '../core/config/settings.js';
import { OauthSigningKeyEntity } from '../identity/oauth/records/oauth-signing-key.entity.js';
import { SigningKeys } from '../identity/oauth/signing-keys.js';
import { VaultService } from '../platform/vault/vault.service.js';
import { installedKeys, runningDatabaseUrl } from './database.js';
import { sentenceFor } from './start-failure.js';

try {
  const settings = readSettings(process.env);
  const [url, keys] = [await runningDatabaseUrl(settings), await installedKeys(settings)];
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [OauthSigningKeyEntity] }).initialize();
  try {
    const signingKeys = new SigningKeys(dataSource.getRepository(OauthSigningKeyEntity), new VaultService(keys));
    process.stdout.write(`ID tokens are signed with the key ${await signingKeys.rotate()} now.\n`);
  } finally {
    await dataSource.destroy();
  }
} catch (error) {
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exitCode = 1;
}
