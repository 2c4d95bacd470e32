import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Behaviour, PROVIDER_SECRET, startFakeOpenAI } from '../../support/fake-openai.js';
import { newTenant } from '../../support/tenant.js';
import { ModelTools, PROVIDER_KEY } from '../../support/model-tools.js';
import { eventually } from '../../support/eventually.js';

const TEST_LIMIT_MS = 20_000;

let tools: ModelTools;

beforeAll(async () => {
  tools = await ModelTools.start(newTenant);
});

afterAll(() => tools?.close());

describe('AI_PROVIDER_TEST', () => {
  it('makes one small call with the stored key', async () => {
    const { id } = await tools.createProvider();
    const before = tools.fake.requests.length;
    expect(await tools.testProvider(id, 'some-model')).toEqual({ ok: true, latency_ms: expect.any(Number) });
    expect(tools.fake.requests.slice(before)).toMatchObject([
      {
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${PROVIDER_KEY}` },
        body: { model: 'some-model' },
      },
    ]);
  });

  it.each<[Behaviour, RegExp]>([
    [{ kind: 'status', status: 307, headers: { location: '/v1/chat/completions' } }, /invalid response/],
    [{ kind: 'status', status: 401 }, /refused the credential/],
    [{ kind: 'status', status: 404 }, /does not know the model/],
    [{ kind: 'status', status: 429, headers: { 'retry-after': '1' } }, /limits the rate/],
    [{ kind: 'status', status: 500 }, /is failing/],
    [{ kind: 'body', body: '<html>' }, /invalid response/],
  ])('says what is wrong on %j', async (behaviour, sentence) => {
    const { id } = await tools.createProvider();
    tools.fake.script(behaviour);
    const before = tools.fake.requests.length;
    const result = await tools.testProvider(id);
    expect(result).toEqual({ ok: false, latency_ms: expect.any(Number), error: expect.stringMatching(sentence) });
    expect(result.error).not.toContain(PROVIDER_SECRET);
    expect(tools.fake.requests.length - before).toBe(1);
  });

  it('says that a wrong key was refused', async () => {
    const { id } = await tools.createProvider({ api_key: 'sk-wrong' });
    const result = await tools.testProvider(id);
    expect(result.error).toMatch(/refused the credential/);
    expect(result.error).not.toContain('sk-wrong');
  });

  it('reports an unreachable server', async () => {
    const gone = await startFakeOpenAI();
    await gone.close();
    const { id } = await tools.createProvider({ base_url: gone.baseUrl });
    expect(await tools.testProvider(id)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/cannot be reached/),
    });
  });

  it('says that a key was moved from another provider', async () => {
    const [one, other] = [await tools.createProvider(), await tools.createProvider()];
    await tools.service.query('UPDATE ai_providers SET api_key = $2 WHERE id = $1', [
      one.id,
      await tools.storedKey(other.id),
    ]);
    expect(await tools.testProvider(one.id)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/cannot be decrypted/),
    });
  });

  it('times out on a provider that hangs, and closes the connection', async () => {
    const { id } = await tools.createProvider();
    tools.fake.script({ kind: 'hang' });
    const result = await tools.testProvider(id);
    expect(result).toMatchObject({ ok: false, error: expect.stringMatching(/in time/) });
    expect(result.latency_ms).toBeGreaterThanOrEqual(TEST_LIMIT_MS - 100);
    expect(await hungUp()).toBe(true);
  }, 40_000);
});

/** The fake learns of it a moment after the service. */
function hungUp(): Promise<boolean> {
  return eventually(() => tools.fake.requests.at(-1)?.abandoned ?? false);
}
