import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer, type ModelBehaviour } from '../../../src/boot/testing/model-server.js';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { AnthropicApi } from '../../support/model-apis/anthropic-api.js';
import { OpenAiApi } from '../../support/model-apis/openai-api.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { PROVIDER_CASES, type ProviderCase } from './provider-kinds.support.js';

const PROPERTIES = { part: { type: 'string' }, note: { type: 'string' } };
const SCHEMA = { type: 'object', properties: PROPERTIES, required: ['part'] };
const OUTPUT = { part: 'axle' };
const TEXT: ModelBehaviour = { kind: 'text', deltas: ['{"part":', '"axle"}'] };
const properties = PROPERTIES;

const api_key = 'test-key';
const CASES: readonly Pick<ProviderCase, 'name' | 'data' | 'model' | 'start'>[] = [
  ...PROVIDER_CASES,
  {
    name: 'openai',
    data: { kind: 'openai', api_key },
    model: 'gpt-5',
    start: (answer) => startModelServer(new OpenAiApi(api_key), answer),
  },
  {
    name: 'anthropic',
    data: { kind: 'anthropic', api_key },
    model: 'claude-haiku-4-5',
    start: (answer) => startModelServer(new AnthropicApi(api_key), answer),
  },
];

/** Where each provider's own API has the schema. */
const NATIVE: Record<string, object> = {
  openai: { text: { format: { type: 'json_schema', strict: false, schema: { properties } } } },
  anthropic: { output_config: { format: { type: 'json_schema', schema: { properties } } } },
  google: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: { properties } } },
  azure: { text: { format: { type: 'json_schema', strict: false, schema: { properties } } } },
  'azure with a version': {
    response_format: { type: 'json_schema', json_schema: { strict: false, schema: { properties } } },
  },
  // As a tool that the model has to call, as for models without a format of their own.
  bedrock: {
    toolConfig: { toolChoice: { any: {} }, tools: [{ toolSpec: { name: 'search' } }, { toolSpec: { name: 'json' } }] },
  },
  mistral: { response_format: { type: 'json_schema', json_schema: { schema: { properties } } } },
};

/** How models answer in that form. */
const ANSWERS: Record<string, ModelBehaviour> = {
  bedrock: { kind: 'tool-calls', calls: [{ name: 'json', arguments: OUTPUT }] },
};

let app: Tenant;
let tools: ToolServer;
let broken: FakeOpenAI;
let brokenId: string;
let agentId: string;

async function createProvider(data: object): Promise<string> {
  return (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data })).item.id;
}

beforeAll(async () => {
  [app, tools, broken] = await Promise.all([newTenant(), startToolServer('search'), startFakeOpenAI()]);
  brokenId = await createProvider({ title: 'Broken', kind: 'openai-compatible', base_url: broken.baseUrl });
  agentId = await createAgent(app, [await connect(app, tools.url)], { output_schema: SCHEMA });
});

afterAll(async () => {
  await app?.close();
  await tools?.close();
  await broken?.close();
});

describe.each(CASES)('a provider of kind $name', (provider) => {
  let server: ModelServer<Record<string, unknown>>;

  beforeAll(async () => {
    server = await provider.start(() => TEXT);
    const id = await createProvider({ title: provider.name, base_url: server.baseUrl, ...provider.data });
    const own = { provider_id: id, model: provider.model };
    const fast = { provider_id: brokenId, model: provider.name, fallbacks: [own] };
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: own, fast } });
  });

  afterAll(() => server?.close());

  it('gets the schema in its own form, also with tools', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const calls = [{ name: 'search', arguments: { text: 'axles' }, id: 'call00001' }];
    server.script({ kind: 'tool-calls', calls }, ANSWERS[provider.name] ?? TEXT);
    const { taskId } = await thread.ask('Find axles');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', output: OUTPUT, steps: 2 });
    expect(server.requests).toHaveLength(2);
    for (const { body } of server.requests) {
      expect(body).toMatchObject(NATIVE[provider.name] ?? {});
      expect(JSON.stringify(body)).not.toContain('JSON Schema');
    }
  });

  it('gets it as the fallback of a provider of another kind', async () => {
    server.requests.length = 0;
    const thread = await ThreadClient.create(app, agentId);
    broken.script({ kind: 'break-after', deltas: ['{"part":'] });
    server.script(ANSWERS[provider.name] ?? TEXT);
    const { taskId, ...collected } = await thread.ask('Find axles', { tier: 'fast' });
    await thread.expectWhole(taskId, collected);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', output: OUTPUT, steps: 1 });
    expect(server.requests.map(({ body }) => body)).toMatchObject([NATIVE[provider.name] ?? {}]);
  });

  it('is asked by an instruction once it has refused the schema', async () => {
    server.requests.length = 0;
    const thread = await ThreadClient.create(app, agentId);
    const calls = [{ name: 'search', arguments: { text: 'axles' }, id: 'call00001' }];
    server.script({ kind: 'status', status: 400, document: { message: 'No.' } }, { kind: 'tool-calls', calls }, TEXT);
    const { taskId } = await thread.ask('Find axles');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', output: OUTPUT, steps: 2 });
    expect(server.requests.map(({ body }) => JSON.stringify(body).includes('JSON Schema'))).toEqual([
      false,
      true,
      true,
    ]);
  });
});
