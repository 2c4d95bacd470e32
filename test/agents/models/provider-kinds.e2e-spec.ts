import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelBehaviour, PROVIDER_SECRET } from '../../../src/boot/testing/model-server.js';
import { connect, createAgent, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import type { Failure } from './provider-failures.support.js';
import { PROVIDER_CASES } from './provider-kinds.support.js';

const GREETING: ModelBehaviour = { kind: 'text', deltas: ['Good ', 'day.'] };

let app: Tenant;
let tools: ToolServer;
let agentId: string;

beforeAll(async () => {
  [app, tools] = await Promise.all([newTenant(), startToolServer('search')]);
  agentId = await createAgent(app, [await connect(app, tools.url)], { instructions: 'Answer in verse.' });
});

afterAll(async () => {
  await app?.close();
  await tools?.close();
});

describe.each(PROVIDER_CASES)('a provider of kind $name', (provider) => {
  const { data, secrets, model } = provider;
  const name = `${data.kind}/${model}`;
  let server: ModelServer<Record<string, unknown>>;
  let providerId: string;
  let unscripted: ModelBehaviour = GREETING;

  beforeAll(async () => {
    server = await provider.start(() => unscripted);
    const created = { title: provider.name, base_url: server.baseUrl, ...data };
    providerId = (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data: created })).item.id;
    const price = { input: 100, output: 1000, cached_input: 10 };
    const smart = { provider_id: providerId, model, price, max_output_tokens: 500 };
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart } });
  });

  afterAll(() => server?.close());

  it('streams its answer, with the instructions, the settings and the tools in its request', async () => {
    const thread = await ThreadClient.create(app, agentId);
    server.script({
      kind: 'text',
      deltas: ['Hello ', 'to ', 'you.'],
      usage: { inputTokens: 11, outputTokens: 7, cachedInputTokens: 3 },
    });
    const { taskId, ...collected } = await thread.ask('Hello', { temperature: 0.25 });
    const answer = await thread.expectWhole(taskId, collected);
    expect(textOf(collected.chunks)).toBe('Hello to you.');
    expect(answer.metadata).toMatchObject({ model: name, finishReason: 'stop' });
    const usage = { inputTokens: 11, outputTokens: 7, totalTokens: 18 };
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', model: name, usage, cost_usd: 0.00783 });
    expect(server.requests.at(-1)).toMatchObject({ path: provider.path, body: provider.request });
    expectNoSecret([collected, answer]);
  });

  it('calls tools, and gets their results in its own form', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const calls = [{ name: 'search', arguments: { text: 'trains' }, id: 'call00001' }];
    server.script({ kind: 'tool-calls', calls, deltas: ['Let me see. '] }, { kind: 'text', deltas: ['Found.'] });
    const { taskId, ...collected } = await thread.ask('Find trains');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { state: 'output-available', input: { text: 'trains' } },
    ]);
    expect(textOf(collected.chunks)).toBe('Let me see. Found.');
    expect(await thread.run(taskId)).toMatchObject({
      status: 'completed',
      steps: 2,
      usage: { inputTokens: 22, outputTokens: 14, totalTokens: 36 },
    });
    expect(server.requests.at(-1)?.body).toMatchObject(provider.results);
  });

  it('continues a conversation that holds calls of another provider, and results that no answer followed', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const calls = [{ name: 'search', arguments: { text: 'trains' }, id: 'call_of-another/provider' }];
    server.script({ kind: 'tool-calls', calls }, { kind: 'status', status: 400, document: { message: 'No.' } });
    const { taskId } = await thread.ask('Find trains');
    expect(await thread.run(taskId)).toMatchObject({ status: 'failed' });
    const next = await thread.ask('And now?');
    expect(textOf(next.chunks)).toBe('Good day.');
  });

  it('is tested by a small call', async () => {
    expect(await test(providerId, model)).toEqual({ ok: true, latency_ms: expect.any(Number) });
    expect(server.requests.at(-1)).toMatchObject({ path: provider.path });
  });

  it('says in a test that it refuses the credential, which it quotes', async () => {
    const wrong = { title: 'Wrong', base_url: server.baseUrl, ...data };
    for (const [field, value] of Object.entries(data)) {
      if (secrets.includes(value)) wrong[field as 'title'] = `${value}-but-wrong`;
    }
    const { item } = await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data: wrong });
    const { ok, error } = await test(item.id, model);
    expect({ ok, error }).toEqual({
      ok: false,
      error: expect.stringMatching(/refused the credential \(HTTP \d+\)\. It says/),
    });
    expect(error).toContain('***');
    expectNoSecret(error);
    expect(error).not.toContain('but-wrong');
  });

  it('says in a test that it limits the rate, in its stream', async () => {
    server.script({ kind: 'error-after', deltas: ['O'], error: provider.throttled });
    expect(await test(providerId, model)).toMatchObject({ ok: false, error: expect.stringMatching(/limits the rate/) });
  });

  it.each<Failure>([
    ...provider.failures,
    {
      what: 'limits the rate in its stream',
      behaviour: { kind: 'error-after', deltas: ['Once'], error: provider.throttled },
      code: 'provider_rate_limited',
      message: /^The model provider limits the rate of requests( \(HTTP 429\))?\.$/,
      text: 'Once',
    },
  ])('that $what fails the run with $code', async ({ behaviour, code, message, text = '' }) => {
    const thread = await ThreadClient.create(app, agentId);
    unscripted = behaviour;
    const { taskId, ...collected } = await thread.ask('Hello').finally(() => (unscripted = GREETING));
    const run = await thread.run(taskId);
    expect(run).toMatchObject({ status: 'failed', error: { code, message: expect.stringMatching(message) } });
    expect(textOf(collected.chunks)).toBe(text);
    expectNoSecret([collected, run]);
  });

  function expectNoSecret(value: unknown): void {
    const shown = JSON.stringify(value);
    for (const secret of [...secrets, PROVIDER_SECRET]) expect(shown).not.toContain(secret);
  }
});

function test(id: string, model: string): Promise<{ ok: boolean; latency_ms: number; error?: string }> {
  return succeed(app, 'AI_PROVIDER_TEST', { id, model });
}
