import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent } from 'undici';
import {
  type Behaviour,
  type FakeOpenAI,
  PROVIDER_SECRET,
  startFakeOpenAI,
} from '../../../test/support/fake-openai.js';
import { createEchoModel } from './builtin/echo-model.js';
import { OpenAiCompatibleModels } from './kinds/openai-compatible.js';
import { probe } from './provider-tester.js';
import { describeProviderFailure } from './provider-failure.js';
import { createProviderFetch } from './provider-fetch.js';

const dispatcher = new Agent();
const fetch = createProviderFetch(dispatcher);
let fake: FakeOpenAI;

beforeAll(async () => {
  fake = await startFakeOpenAI();
});

afterAll(async () => {
  await dispatcher.destroy();
  await fake.close();
});

async function ask(limitMs = 5000): Promise<void> {
  const model = await new OpenAiCompatibleModels().openModel({ baseUrl: fake.baseUrl, model: 'm', fetch });
  return probe(model, AbortSignal.timeout(limitMs));
}

describe('probe', () => {
  it('passes when the answer ends normally, and requests few tokens', async () => {
    await ask();
    expect(fake.requests.at(-1)?.body).toMatchObject({ model: 'm', stream: true, max_tokens: 16 });
  });

  it('passes on the built-in model', async () => {
    await expect(probe(createEchoModel(), AbortSignal.timeout(5000))).resolves.toBeUndefined();
  });

  it.each<[Behaviour, string]>([
    [{ kind: 'status', status: 401 }, 'provider_unauthorized'],
    [{ kind: 'status', status: 404 }, 'provider_not_found'],
    [{ kind: 'status', status: 429 }, 'provider_rate_limited'],
    [{ kind: 'status', status: 500 }, 'provider_unavailable'],
    [{ kind: 'body', body: `<html>${PROVIDER_SECRET}</html>` }, 'provider_bad_response'],
    [{ kind: 'body', body: '', contentType: 'text/event-stream' }, 'provider_bad_response'],
    [{ kind: 'break-after', deltas: ['O'] }, 'provider_unavailable'],
    [{ kind: 'malformed-after', deltas: ['O'] }, 'provider_bad_response'],
    [{ kind: 'error-after', deltas: ['O'], error: { message: PROVIDER_SECRET } }, 'provider_bad_response'],
  ])('fails on %j with %s, and calls the model once', async (behaviour, code) => {
    fake.script(behaviour);
    const before = fake.requests.length;
    const failure = await ask().then(
      () => undefined,
      (error: unknown) => describeProviderFailure(error),
    );
    expect(failure?.code).toBe(code);
    expect(failure?.message).not.toContain(PROVIDER_SECRET);
    expect(fake.requests.length - before).toBe(1);
  });

  it.each<Behaviour>([{ kind: 'hang' }, { kind: 'hang-after', deltas: ['O'] }])(
    'gives up when the limit is reached: %j',
    async (behaviour) => {
      fake.script(behaviour);
      const failure = await ask(100).catch((error: unknown) => describeProviderFailure(error));
      expect(failure).toMatchObject({ code: 'provider_timeout' });
    },
  );
});
