import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateEncryptionKey, parseEncryptionKeys } from '../../../src/core/config/encryption-keys.js';
import { SEALED_COLUMNS } from '../../../src/platform/vault/sealed-columns.js';
import { rotateColumn } from '../../../src/platform/vault/vault-rotation.js';
import { VaultService } from '../../../src/platform/vault/vault.service.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase } from '../../support/database.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { Issuer } from '../../identity/sign-in/issuer.js';
import { authorize, begin, connectOauth, keyOf, signedIn } from './log-in.support.js';
import { connectEnterprise, employ, signInAt } from './enterprise.support.js';
import { ENTERPRISE_CLIENT, startOauthUpstream } from './oauth-upstream.js';

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

it('vault:rotate re-encrypts the ID tokens of people', async () => {
  const database = await createTestDatabase();
  let before: TestService;
  const issuer = await Issuer.start(() => [`${before.url}/auth/oidc/callback`]);
  issuer.exchanges.clientId = ENTERPRISE_CLIENT.client_id;
  const upstream = await startOauthUpstream(undefined, issuer.url);
  before = await startTestService({ database, env: { ...issuer.env(), ENCRYPTION_KEYS: OLD } });
  const id = await connectEnterprise(before, upstream.url);
  const person = await employ(before);
  await signInAt(issuer, person);
  await before.close();

  const client = new Client({ connectionString: database.url });
  await client.connect();
  const vault = new VaultService(parseEncryptionKeys(`${NEW},${OLD}`));
  const result = await rotateColumn(client, vault, SEALED_COLUMNS.idToken);
  expect(result).toEqual({ resealed: 1, current: 0, unreadable: [] });
  await rotateColumn(client, vault, SEALED_COLUMNS.connectionOauthClientSecret);
  await client.end();

  const after = await startTestService({ database, env: { ...issuer.env(), ENCRYPTION_KEYS: NEW } });
  try {
    const answer = await callProxy(after, pathOf(after, id), { key: person.key, body: toolCall('whoami') });
    expect(rpcOf(answer).result?.content?.[0]?.text).toBe(person.sub);
  } finally {
    await after.close();
    await upstream.close();
    issuer.close();
    await database.drop();
  }
});
