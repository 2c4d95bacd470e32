import type { LanguageModelV4 } from '@ai-sdk/provider';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ModelsService } from '../../../src/agents/models/models.service.js';
import type { Tier } from '../../../src/core/tier.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { ModelTools, NOBODY, PROVIDER_KEY } from '../../support/model-tools.js';

const TARGET = { provider_id: NOBODY, model: 'm' };
const OTHER = { ...TARGET, model: 'n' };

let tools: ModelTools<TestApp>;

beforeAll(async () => {
  tools = await ModelTools.start(startTestApp);
});

afterAll(() => tools?.close());

async function setTiers(data: object): Promise<Record<Tier, unknown>> {
  return (await tools.call<{ item: Record<Tier, unknown> }>('MODEL_TIERS_SET', { data })).item;
}

async function getTiers(): Promise<Record<Tier, unknown>> {
  return (await tools.call<{ item: Record<Tier, unknown> }>('MODEL_TIERS_GET', {})).item;
}

describe('model tiers', () => {
  const NONE = { fast: null, smart: null, thinking: null };

  it('are set one by one, kept when absent, and cleared by null', async () => {
    const { id: provider_id } = await tools.createProvider();
    expect(await setTiers(NONE)).toEqual(NONE);
    const smart = { provider_id, model: 'large' };
    expect(await setTiers({ smart })).toEqual({ ...NONE, smart });
    const fast = { provider_id, model: 'small' };
    expect(await setTiers({ fast, thinking: { ...fast, provider_id: provider_id.toUpperCase() } })).toEqual({
      fast,
      smart,
      thinking: fast,
    });
    expect(await setTiers({ smart: { ...smart, model: 'larger' }, fast: null })).toEqual({
      fast: null,
      smart: { ...smart, model: 'larger' },
      thinking: fast,
    });
    expect(await setTiers({})).toEqual(await getTiers());
    expect(await setTiers(NONE)).toEqual(NONE);
  });

  it('have a price until a target without one is set', async () => {
    const { id: provider_id } = await tools.createProvider();
    const price = { input: 2.5, output: 10, cached_input: 0 };
    const smart = { provider_id, model: 'large', price };
    expect(await setTiers({ ...NONE, smart })).toEqual({ ...NONE, smart });
    expect(await getTiers()).toEqual({ ...NONE, smart });
    const [event] = (
      await tools.call<{ items: object[] }>('AUDIT_EVENTS_LIST', {
        where: { field: ['event'], operator: 'eq', value: 'provider.tiers_set' },
        limit: 1,
      })
    ).items;
    expect(event).toMatchObject({ changes: { smart: { to: { model: 'large', price } } } });
    expect(await setTiers({ smart: { provider_id, model: 'large' } })).toEqual({
      ...NONE,
      smart: { provider_id, model: 'large' },
    });
  });

  it('change all together or not at all when a provider is unknown or foreign', async () => {
    const { id: provider_id } = await tools.createProvider();
    const before = await setTiers({ ...NONE, fast: { provider_id, model: 'kept' } });
    for (const stranger of [await tools.createForeignProvider(), NOBODY]) {
      const [own, foreign] = [provider_id, stranger].map((id) => ({ provider_id: id, model: 'm' }));
      for (const [thinking, path] of [
        [foreign, 'data.thinking.provider_id'],
        [{ ...own, fallbacks: [{ ...own, model: 'n' }, foreign] }, 'data.thinking.fallbacks[1].provider_id'],
      ]) {
        const answer = await tools.service.tool('MODEL_TIERS_SET', { data: { fast: null, smart: own, thinking } });
        expect(answer.status).toBe(404);
        expect(answer.body).toMatchObject({ code: 'not_found', errors: [{ path }] });
        expect(await getTiers()).toEqual(before);
      }
    }
  });

  it('are cleared when their provider is deleted', async () => {
    const [gone, kept] = [await tools.createProvider(), await tools.createProvider()];
    const fast = { provider_id: kept.id, model: 'm' };
    await setTiers({ ...NONE, fast, smart: { provider_id: gone.id, model: 'm' } });
    await tools.call('AI_PROVIDER_DELETE', { id: gone.id });
    expect(await getTiers()).toEqual({ ...NONE, fast });
  });

  it('go on with their next model when the provider of one is deleted', async () => {
    const [gone, kept] = [await tools.createProvider(), await tools.createProvider()];
    const of = ({ id }: { id: string }, model: string): object => ({ provider_id: id, model });
    const fallbacks = [of(kept, 'b'), of(gone, 'c'), of(kept, 'd')];
    await setTiers({ ...NONE, smart: { ...of(gone, 'a'), fallbacks }, fast: { ...of(kept, 'x'), fallbacks } });
    await tools.call('AI_PROVIDER_DELETE', { id: gone.id });
    const left = [of(kept, 'b'), of(kept, 'd')];
    const smart = { ...left[0], fallbacks: left.slice(1) };
    expect(await getTiers()).toEqual({ ...NONE, smart, fast: { ...of(kept, 'x'), fallbacks: left } });
    const models = await tools.service.app.get(ModelsService).resolveModels(await organizationId(), 'smart');
    expect(models.map(({ model }) => model)).toEqual(['b', 'd']);
  });

  it('survive many changes at once, and a provider that goes meanwhile', async () => {
    const { id } = await tools.createProvider();
    const target = { provider_id: id, model: 'm' };
    const changes = [{ fast: target, thinking: null }, { thinking: target, fast: null }, { smart: target }, NONE];
    const sets = Array.from({ length: 20 }, (_, i) =>
      tools.service.tool('MODEL_TIERS_SET', { data: changes[i % changes.length] }),
    );
    const [deleted, ...changed] = await Promise.all([tools.service.tool('AI_PROVIDER_DELETE', { id }), ...sets]);
    expect(deleted?.status).toBe(200);
    expect(changed.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
    expect(await getTiers()).toEqual(NONE);
  });

  it.each<[object, string]>([
    [{ data: { fast: 'gpt' } }, 'data.fast'],
    [{ data: { fast: [] } }, 'data.fast'],
    [{ data: { smart: { provider_id: 'x', model: 'm' } } }, 'data.smart.provider_id'],
    [{ data: { smart: { provider_id: NOBODY, model: '' } } }, 'data.smart.model'],
    [{ data: { smart: { provider_id: NOBODY, model: 'm', temperature: 1 } } }, 'data.smart.temperature'],
    [{ data: { huge: null } }, 'data.huge'],
    [{ data: { smart: { ...TARGET, price: { input: 1 } } } }, 'data.smart.price.output'],
    [{ data: { smart: { ...TARGET, price: { input: -1, output: 1 } } } }, 'data.smart.price.input'],
    [{ data: { smart: { ...TARGET, price: { input: '1', output: 1 } } } }, 'data.smart.price.input'],
    [{ data: { smart: { ...TARGET, price: { input: 1, output: 1_000_001 } } } }, 'data.smart.price.output'],
    [
      { data: { smart: { ...TARGET, price: { input: 1, output: 1, cached_input: null } } } },
      'data.smart.price.cached_input',
    ],
    [{ data: { smart: { ...TARGET, price: { input: 1, output: 1, currency: 'EUR' } } } }, 'data.smart.price.currency'],
    [{ data: { smart: { ...TARGET, price: null } } }, 'data.smart.price'],
    [{ data: { smart: { ...TARGET, max_output_tokens: 0 } } }, 'data.smart.max_output_tokens'],
    [{ data: { smart: { ...TARGET, max_output_tokens: 10_000_001 } } }, 'data.smart.max_output_tokens'],
    [{ data: { smart: { ...TARGET, max_output_tokens: 1.5 } } }, 'data.smart.max_output_tokens'],
    [{ data: { smart: { ...TARGET, first_chunk_timeout_s: 0 } } }, 'data.smart.first_chunk_timeout_s'],
    [{ data: { smart: { ...TARGET, first_chunk_timeout_s: 601 } } }, 'data.smart.first_chunk_timeout_s'],
    [
      { data: { smart: { ...TARGET, fallbacks: [{ ...OTHER, max_output_tokens: 0 }] } } },
      'data.smart.fallbacks[0].max_output_tokens',
    ],
    [{ data: { smart: { ...TARGET, fallbacks: null } } }, 'data.smart.fallbacks'],
    [{ data: { smart: { ...TARGET, fallbacks: [1, 2, 3, 4, 5].map(() => OTHER) } } }, 'data.smart.fallbacks'],
    [{ data: { smart: { ...TARGET, fallbacks: [{ ...OTHER, fallbacks: [] }] } } }, 'data.smart.fallbacks[0].fallbacks'],
    [{ data: { smart: { ...TARGET, fallbacks: [TARGET] } } }, 'data.smart.fallbacks[0]'],
    [{ data: { smart: { ...TARGET, fallbacks: [OTHER, OTHER] } } }, 'data.smart.fallbacks[1]'],
    [{ fast: null }, 'fast'],
  ])('refuse %j', async (body, path) => {
    const answer = await tools.service.tool('MODEL_TIERS_SET', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  it('resolve to their model, then to smart, then to the built-in one', async () => {
    const models = tools.service.app.get(ModelsService);
    const organization = await organizationId();
    await setTiers(NONE);
    expect((await models.resolveModels(organization, 'fast'))[0]?.name).toBe('builtin/echo');

    const { id: provider_id } = await tools.createProvider();
    await setTiers({ smart: { provider_id, model: 'large' }, thinking: { provider_id, model: 'deep' } });
    const resolved = await Promise.all(
      (['fast', 'smart', 'thinking'] as const).map(async (tier) => (await models.resolveModels(organization, tier))[0]),
    );
    expect(resolved.map((model) => model?.name)).toEqual([
      'openai-compatible/large',
      'openai-compatible/large',
      'openai-compatible/deep',
    ]);
    expect(await textOf(await resolved[2]?.open())).toBe('Hello from the fake model.');
    expect(tools.fake.requests.at(-1)).toMatchObject({
      headers: { authorization: `Bearer ${PROVIDER_KEY}` },
      body: { model: 'deep' },
    });
  });
});

async function organizationId(): Promise<string> {
  const rows: { id: string }[] = await tools.service.query('SELECT id FROM organizations WHERE slug = $1', [
    tools.service.org,
  ]);
  return rows[0]?.id ?? '';
}

async function textOf(model: LanguageModelV4 | undefined): Promise<string> {
  const answer = await model?.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] });
  let text = '';
  for await (const part of answer?.stream ?? []) if (part.type === 'text-delta') text += part.delta;
  return text;
}
