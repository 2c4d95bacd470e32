import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateEncryptionKey, parseEncryptionKeys } from '../../../src/core/config/encryption-keys.js';
import { SEALED_COLUMNS } from '../../../src/platform/vault/sealed-columns.js';
import { rotateColumn } from '../../../src/platform/vault/vault-rotation.js';
import { VaultService } from '../../../src/platform/vault/vault.service.js';
import { startTestService } from '../../support/service.js';
import { createTestDatabase } from '../../support/database.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { authorize, begin, connectOauth, keyOf, signedIn } from './log-in.support.js';
import { startOauthUpstream } from './oauth-upstream.js';

const [OLD, NEW] = [generateEncryptionKey('old'), generateEncryptionKey('new')];

it('vault:rotate re-encrypts the tokens of connections and members, registered clients and log-ins', async () => {
  const database = await createTestDatabase();
  const upstream = await startOauthUpstream();
  const before = await startTestService({ database, env: { ENCRYPTION_KEYS: OLD } });
  const person = await signedIn(before);
  const key = await keyOf(before, person);
  const ids = [await connectOauth(before, upstream), await connectOauth(before, upstream, { account: 'member' })];
  for (const id of ids) expect((await authorize(person, upstream, id)).status).toBe(200);
  await begin(person, String(ids[0]));
  await before.close();

  const client = new Client({ connectionString: database.url });
  await client.connect();
  const vault = new VaultService(parseEncryptionKeys(`${NEW},${OLD}`));
  const rows = { upstreamTokens: 2, upstreamClient: 2, upstreamLogIn: 1 } as const;
  for (const [name, resealed] of Object.entries(rows)) {
    const result = await rotateColumn(client, vault, SEALED_COLUMNS[name as keyof typeof rows]);
    expect({ name, ...result }).toEqual({ name, resealed, current: 0, unreadable: [] });
  }
  await client.end();

  const after = await startTestService({ database, env: { ENCRYPTION_KEYS: NEW } });
  try {
    for (const id of ids) {
      const answer = await callProxy(after, pathOf(after, id), { key, body: toolCall('whoami') });
      expect(rpcOf(answer).result?.content?.[0]?.text).toBe('alice');
    }
  } finally {
    await after.close();
    await upstream.close();
    await database.drop();
  }
});
