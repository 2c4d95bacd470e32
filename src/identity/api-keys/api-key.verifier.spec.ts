import { beforeEach, describe, expect, it } from '@jest/globals';
import { generateApiKey, hashApiKey } from '../../core/api-key-value.js';
import type { ActiveApiKey, ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyVerifier } from './api-key.verifier.js';

const KNOWN = hashApiKey(generateApiKey());
const KEY: ActiveApiKey = {
  id: 'id',
  organizationId: 'organization',
  runAccess: 'members' as const,
  limits: {},
  keyLimits: null,
  grantId: null,
  resource: null,
  scope: null,
  organizationSlug: 'default',
  userId: 'user',
  permissions: {},
  permissionsDigest: '',
  permissionBytes: 2,
  expiresAt: null,
};

let queries: (readonly string[])[];
let verifier: ApiKeyVerifier;

beforeEach(() => {
  queries = [];
  const repository = {
    findForAuthentication: async (hashes: readonly string[]) => {
      queries.push(hashes);
      await new Promise(setImmediate);
      return new Map(hashes.includes(KNOWN) ? [[KNOWN, KEY]] : []);
    },
    touch: async () => undefined,
  };
  verifier = new ApiKeyVerifier(repository as unknown as ApiKeyRepository);
});

const verify = async (hash: string): Promise<string | null> => (await verifier.verify(hash)).apiKeyId;

describe('ApiKeyVerifier', () => {
  it('looks up thousands of unknown keys in few queries, and accepts a valid key among them', async () => {
    const guesses = Array.from({ length: 5_000 }, () => verify(hashApiKey(generateApiKey())));
    const good = verify(KNOWN);
    const answers = await Promise.allSettled(guesses);
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await good).toBe(KEY.id);
    expect(queries.length).toBeLessThan(10);
  });

  it('does not look up a recently unknown key again', async () => {
    const guess = hashApiKey(generateApiKey());
    await expect(verify(guess)).rejects.toThrow('credential is not valid');
    await expect(verify(guess)).rejects.toThrow('credential is not valid');
    expect(queries).toHaveLength(1);
  });

  it('looks up an unknown key again after its creation', async () => {
    const guess = hashApiKey(generateApiKey());
    await expect(verify(guess)).rejects.toThrow('credential is not valid');
    verifier.forget(guess);
    await expect(verify(guess)).rejects.toThrow('credential is not valid');
    expect(queries).toHaveLength(2);
  });
});
