import { randomBytes } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { type FakeOpenAI, startFakeOpenAI } from '../../../test/support/fake-openai.js';
import { AddressPolicy } from '../../platform/net/address-policy.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { OpenAiCompatibleModels } from './kinds/openai-compatible.js';
import { ModelKinds } from './model-kind.js';
import { probe } from './provider-tester.js';
import { describeProviderFailure } from './provider-failure.js';
import { apiKeyContext } from './provider-columns.js';
import { ProviderModels, type StoredProvider } from './provider-models.js';

const vault = new VaultService([{ id: 'k1', key: randomBytes(32) }]);
let fake: FakeOpenAI;
let models: ProviderModels | undefined;
let kinds: ModelKinds;

beforeAll(async () => {
  const providers = [ModelKinds, OpenAiCompatibleModels];
  const module = await Test.createTestingModule({ imports: [DiscoveryModule], providers }).compile();
  kinds = (await module.init()).get(ModelKinds);
});

beforeEach(async () => {
  fake = await startFakeOpenAI({ apiKey: 'sk-stored' });
});

afterEach(async () => {
  await models?.onApplicationShutdown();
  await fake.close();
});

async function call(allowPrivate: boolean, provider: Partial<StoredProvider>): Promise<void> {
  models = new ProviderModels(new AddressPolicy({ allowPrivate, allow: [] }), vault, kinds);
  const none = { apiKey: null, options: {}, secrets: null };
  const stored = { id: 'p1', kind: 'openai-compatible', baseUrl: fake.baseUrl, ...none, ...provider };
  return probe(await models.open(stored, 'm'), AbortSignal.timeout(5000));
}

describe('ProviderModels', () => {
  it('calls a stored provider with its opened key', async () => {
    await expect(call(true, { apiKey: vault.seal('sk-stored', apiKeyContext('p1')) })).resolves.toBeUndefined();
  });

  it('dials no address that the policy refuses, although it was stored', async () => {
    const failure = await call(false, {}).catch((error: unknown) => describeProviderFailure(error));
    expect(failure).toMatchObject({ code: 'provider_unavailable', message: expect.stringContaining('127.0.0.1') });
    expect(fake.requests).toEqual([]);
  });

  it('says which kind no module has', async () => {
    await expect(call(true, { kind: 'acme' })).rejects.toThrow(
      'This service does not support the kind acme of the AI provider.',
    );
  });

  it('refuses a key that was sealed for another provider', async () => {
    const apiKey = vault.seal('sk-stored', apiKeyContext('p2'));
    await expect(call(true, { apiKey })).rejects.toThrow('cannot be decrypted');
  });
});
