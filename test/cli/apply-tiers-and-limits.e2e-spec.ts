import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Signalbox, type ToolOutput } from '../../packages/client/src/index.js';
import { CliFixture } from './cli.support.js';

const TIERS = `
model_tiers:
  fast:
    provider: Local
    model: small
    price: { input: 0.5, output: 2 }
  smart:
    provider: Cloud
    model: large
    price: { input: 3, output: 15, cached_input: 0.3 }
    max_output_tokens: 4000
    first_chunk_timeout_s: 20
    fallbacks:
      - provider: Local
        model: medium
        price: { input: 1, output: 4 }
`;
const LIMITS = `
organization:
  limits:
    runs_per_minute: 500
    file_bytes: 1000000000
    spend: { usd_per_day: 50, usd_per_month: 1000 }
`;
const NOTHING = { code: 0, output: 'Nothing to change.\n', errors: '' };

let cli: CliFixture;
let signalbox: Signalbox;
let cloud: string;
let local: string;

beforeAll(async () => {
  cli = await CliFixture.start();
  signalbox = new Signalbox(cli);
  [cloud, local] = [await createProvider('Cloud'), await createProvider('Local')];
}, 120_000);
afterAll(() => cli?.close());

async function createProvider(title: string): Promise<string> {
  const data = { title, kind: 'openai-compatible', base_url: 'https://models.example.com/v1' } as const;
  return (await signalbox.tool('AI_PROVIDER_CREATE', { data })).item.id;
}

const apply = (manifest: string, ...args: string[]) => cli.apply(manifest, ['--yes', ...args]);
const tiers = async (): Promise<ToolOutput<'MODEL_TIERS_GET'>['item']> =>
  (await signalbox.tool('MODEL_TIERS_GET', {})).item;
const limits = async (): Promise<object> => (await signalbox.tool('ORGANIZATION_GET', {})).item.limits;

describe('signalbox apply', () => {
  it('sets tiers with fallbacks, and the limits of the organization; a second time changes nothing', async () => {
    expect(await apply(TIERS + LIMITS)).toEqual({
      code: 0,
      output: [
        '+ model_tiers.fast',
        '+ model_tiers.smart',
        '~ organization.limits: runs_per_minute, file_bytes, spend',
        '2 to create, 1 to update, 0 to delete.',
        'Done.',
        '',
      ].join('\n'),
      errors: '',
    });
    expect(await tiers()).toEqual({
      fast: { provider_id: local, model: 'small', price: { input: 0.5, output: 2 } },
      smart: {
        provider_id: cloud,
        model: 'large',
        price: { input: 3, output: 15, cached_input: 0.3 },
        max_output_tokens: 4000,
        first_chunk_timeout_s: 20,
        fallbacks: [{ provider_id: local, model: 'medium', price: { input: 1, output: 4 } }],
      },
      thinking: null,
    });
    const spend = { usd_per_day: 50, usd_per_month: 1000 };
    expect(await limits()).toEqual({ runs_per_minute: 500, file_bytes: 1_000_000_000, spend });
    expect(await apply(TIERS + LIMITS)).toEqual(NOTHING);
  });

  it('exports what it can apply again', async () => {
    const exported = await cli.output('export');
    expect(parse(exported)).toEqual(parse(TIERS + LIMITS));
    expect(await apply(exported)).toEqual(NOTHING);
  });

  it('keeps what an entry does not name, except that another model has nothing of the one before', async () => {
    const { fast, smart } = await tiers();
    const entry = 'model_tiers:\n  smart: { provider: Cloud, model: large, max_output_tokens: 100 }\n';
    expect((await apply(entry)).output).toContain('~ model_tiers.smart: max_output_tokens\n');
    expect(await tiers()).toEqual({ fast, smart: { ...smart, max_output_tokens: 100 }, thinking: null });
    const other = 'model_tiers:\n  smart: { model: huge }\n';
    expect((await apply(other)).output).toContain(
      '~ model_tiers.smart: model, price, max_output_tokens, first_chunk_timeout_s\n',
    );
    expect((await tiers()).smart).toEqual({ provider_id: cloud, model: 'huge', fallbacks: smart?.fallbacks });
    expect(await apply(other)).toEqual(NOTHING);
    const alone = 'model_tiers:\n  smart: { fallbacks: [] }\n';
    expect((await apply(alone)).output).toContain('~ model_tiers.smart: fallbacks\n');
    expect((await tiers()).smart).toEqual({ provider_id: cloud, model: 'huge' });
    expect(await apply(alone)).toEqual(NOTHING);
  });

  it('changes and removes single limits', async () => {
    const month = 'organization:\n  limits: { spend: { usd_per_month: 900 }, file_bytes: null }\n';
    expect((await apply(month)).output).toContain('~ organization.limits: spend, file_bytes\n');
    expect(await limits()).toEqual({ runs_per_minute: 500, spend: { usd_per_month: 900 } });
    expect(await apply(month)).toEqual(NOTHING);
    await apply('organization:\n  limits: { spend: null }\n');
    expect(await limits()).toEqual({ runs_per_minute: 500 });
  });

  it('names providers that have the same title by their ids', async () => {
    const twins = [await createProvider('Twin'), await createProvider('Twin')];
    const named = (provider = ''): string => `model_tiers:\n  thinking: { provider: ${provider}, model: m }\n`;
    const { errors } = await apply(named('Twin'));
    expect(errors).toContain('model_tiers.thinking: several providers have the title "Twin". Use an id.');
    await apply(named(twins[1]));
    expect((await tiers()).thinking).toEqual({ provider_id: twins[1], model: 'm' });
    expect(parse(await cli.output('export')).model_tiers.thinking).toEqual({ provider: twins[1], model: 'm' });
  });

  it('clears with --prune what the sections of the file do not name', async () => {
    expect(await apply('agents:\n', '--prune')).toEqual(NOTHING);
    const { fast } = await tiers();
    const { output } = await apply('model_tiers:\n  fast: { provider: Local }\norganization:\n', '--prune');
    expect(output).toContain('- organization.limits\n- model_tiers.smart\n- model_tiers.thinking\n');
    expect(await tiers()).toEqual({ fast, smart: null, thinking: null });
    expect(await limits()).toEqual({});
    expect(await apply('organization:\n  limits:\n', '--prune')).toEqual(NOTHING);
  });
});

describe('signalbox apply refuses before it changes anything', () => {
  it.each([
    ['a provider that is not there', TIERS.replaceAll('Cloud', 'Nowhere'), 'smart: there is no provider "Nowhere".'],
    [
      'a fallback at a provider that is not there',
      TIERS.replace('- provider: Local', '- provider: Nowhere'),
      'smart.fallbacks[0]: there is no provider "Nowhere".',
    ],
    ['a tier without a provider', 'model_tiers:\n  smart: { model: m }\n', 'smart.provider must be the title'],
    ['a tier without a model', 'model_tiers:\n  thinking: { provider: Local }\n', 'thinking.model must be the name'],
    [
      'a fallback that is nothing',
      'model_tiers:\n  fast: { fallbacks: [null] }\n',
      'fallbacks must be a list of models.',
    ],
    [
      'fallbacks that are no list',
      'model_tiers:\n  fast: { fallbacks: Local }\n',
      'fallbacks must be a list of models.',
    ],
    ['an unknown tier', 'model_tiers:\n  quick: { provider: Local, model: m }\n', 'model_tiers.quick is not a tier'],
    ['an unknown entry', 'organization:\n  retention: {}\n', 'organization.retention is not an entry'],
    ['an unknown limit', 'organization:\n  limits: { runs: 5 }\n', 'organization.limits.runs is no property.'],
  ])('%s', async (_what, manifest, complaint) => {
    const before = await cli.output('export');
    const { code, errors } = await apply(manifest);
    expect(code).toBe(1);
    expect(errors).toContain(complaint);
    expect(await cli.output('export')).toBe(before);
  });
});
