import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { readRun, resultOf } from '../turns/turns.support.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

const SCHEMA = {
  type: 'object',
  properties: { part: { type: 'string' }, broken: { type: 'boolean' }, note: { type: ['string', 'null'] } },
  required: ['part', 'broken'],
  additionalProperties: false,
};
const OUTPUT = { part: 'axle', broken: true, note: null };
const DELTAS = ['{"part":"axle",', '"broken":true,', '"note":null}'];
const CALL = { name: 'search', arguments: { query: 'axles' } };

let app: Tenant;
let model: FakeOpenAI;
let tools: ToolServer;
let agentId: string;
let connectionId: string;

beforeAll(async () => {
  [app, model, tools] = await Promise.all([newTenant(), startFakeOpenAI(), startToolServer('search')]);
  const provider = { title: 'Fake', kind: 'openai-compatible', base_url: model.baseUrl };
  const { item } = await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data: provider });
  await succeed(app, 'MODEL_TIERS_SET', { data: { smart: { provider_id: item.id, model: 'm' } } });
  connectionId = await connect(app, tools.url);
  agentId = await createAgent(app, [connectionId], { output_schema: SCHEMA });
});
afterAll(async () => {
  await Promise.all([model?.close(), tools?.close()]);
  await app?.close();
});
beforeEach(() => {
  model.requests.length = 0;
});

type Details = { output: unknown; model_calls: { step: number }[]; usage: unknown };

async function ask(text = 'What is this?', id = agentId) {
  const thread = await ThreadClient.create(app, id);
  const { taskId, ...collected } = await thread.ask(text);
  const answer = await thread.expectWhole(taskId, collected);
  const run = (await thread.run(taskId)) as Awaited<ReturnType<ThreadClient['run']>> & Details;
  const result = resultOf(await readRun(app, taskId).expect(200));
  return { thread, taskId, run, answer, chunks: collected.chunks, result };
}

describe('the output of a run', () => {
  it('is the object of the last answer', async () => {
    model.script({ kind: 'text', deltas: DELTAS });
    const { run, answer, chunks, result } = await ask();
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT });
    expect(result).toMatchObject({ status: 'completed', output: OUTPUT });
    expect(answer.metadata).toMatchObject({ output: OUTPUT });
    expect(chunks.slice(-3)).toMatchObject([
      { type: 'finish-step' },
      { type: 'data-output', data: OUTPUT },
      { type: 'finish', messageMetadata: { output: OUTPUT } },
    ]);
    expect(JSON.stringify(model.requests[0]?.body.messages[0])).toContain('JSON Schema');
  });

  it('is returned to the model once if it is invalid', async () => {
    model.script({ kind: 'text', deltas: ['{"part":1}'] }, { kind: 'text', deltas: DELTAS });
    const { run, answer, chunks } = await ask();
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT, steps: 1 });
    expect(run.model_calls).toMatchObject([{ step: 1 }, { step: 1 }]);
    expect(chunks.map(({ type }) => type)).toContain('reset-step');
    expect(answer.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: JSON.stringify(OUTPUT) }]);
    expect(model.requests[1]?.body.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: '{"part":1}' },
      { role: 'user', content: expect.stringContaining('broken is required') },
    ]);
  });

  it('fails the run if it is invalid twice', async () => {
    model.script({ kind: 'text', deltas: ['No.'] }, { kind: 'text', deltas: ['{"part":"x"}'] });
    const { run, answer, result } = await ask();
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'output_invalid', message: expect.stringContaining('broken is required') },
      output: null,
    });
    expect(result.output).toBeNull();
    expect(answer.metadata).not.toHaveProperty('output');
    expect(model.requests).toHaveLength(2);
  });

  it('comes after calls of tools', async () => {
    model.script({ kind: 'tool-calls', calls: [CALL], deltas: ['Let me see.'] }, { kind: 'text', deltas: DELTAS });
    const { run } = await ask();
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT, steps: 2 });
  });

  it('is of the built-in model too', async () => {
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: null } });
    const { run } = await ask('Hello');
    expect(run).toMatchObject({ status: 'completed', output: { part: 'Hello', broken: true } });
  });
});
