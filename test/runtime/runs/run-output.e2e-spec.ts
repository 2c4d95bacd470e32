import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as ai from 'ai';
import * as ai5 from 'ai-5';
import * as ai6 from 'ai-6';
import { Webhook } from 'standardwebhooks';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { type Behaviour, type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { chatOf, memoryChat } from '../../support/memory-chat.js';
import { expectProblem } from '../../support/problem.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';
import { createWebhook, deleteWebhook } from '../../automation/webhooks/webhooks.support.js';
import { answer as answerApproval } from '../approvals/approvals.support.js';
import { ask as askAndWait, readRun, resultOf } from '../turns/turns.support.js';
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
let providerId: string;

beforeAll(async () => {
  [app, model, tools] = await Promise.all([newTenant(), startFakeOpenAI(), startToolServer('search')]);
  const provider = { title: 'Fake', kind: 'openai-compatible', base_url: model.baseUrl };
  providerId = (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data: provider })).item.id;
  await succeed(app, 'MODEL_TIERS_SET', { data: { smart: { provider_id: providerId, model: 'm' } } });
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

async function ask(text = 'What is this?', id = agentId, tier = 'smart') {
  const thread = await ThreadClient.create(app, id);
  const { taskId, ...collected } = await thread.ask(text, { tier });
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

  it('is missing where the run ends before its last answer', async () => {
    const id = await createAgent(app, [connectionId], { output_schema: SCHEMA, max_steps: 1 });
    model.script({ kind: 'tool-calls', calls: [CALL], deltas: DELTAS });
    const { run } = await ask('Search.', id);
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'output_invalid', message: 'The run reached its limit of steps before its answer.' },
    });
  });

  it('can be corrected after another call of a tool', async () => {
    model.script(
      { kind: 'text', deltas: ['{}'] },
      { kind: 'tool-calls', calls: [CALL] },
      { kind: 'text', deltas: DELTAS },
    );
    const { run } = await ask();
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT, steps: 2 });
  });

  it('fails the run if it is invalid again after a call of a tool', async () => {
    const invalid: Behaviour = { kind: 'text', deltas: ['{}'] };
    model.script(invalid, { kind: 'tool-calls', calls: [CALL] }, invalid);
    const { run } = await ask();
    expect(run).toMatchObject({ status: 'failed', error: { code: 'output_invalid' } });
    expect(model.requests).toHaveLength(3);
  });

  it.each([
    ['text around it', ['Here it is: ', ...DELTAS]],
    ['a code fence', ['```json\n', ...DELTAS, '\n```']],
    ['a list', ['[', ...DELTAS, ']']],
    ['nothing', []],
    ['the beginning of it', DELTAS.slice(0, 2)],
    ['a NUL character', ['{"part":"\\u0000","broken":true}']],
    ['half of a surrogate pair', ['{"part":"\\ud800","broken":true}']],
    ['deep nesting', ['{"part":', '['.repeat(5_000), ']'.repeat(5_000), ',"broken":true}']],
  ])('is not %s', async (_, deltas) => {
    model.script({ kind: 'text', deltas }, { kind: 'text', deltas: DELTAS });
    const { run } = await ask();
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT });
    expect(model.requests).toHaveLength(2);
  });

  it('keeps names and texts as they are', async () => {
    const id = await createAgent(app, [], { output_schema: { type: 'object' } });
    const text = '{"__proto__":1,"constructor":"\\\\u0000 \\"","n":null,"ü":[{}]}';
    model.script({ kind: 'text', deltas: [text] });
    const { run, result, answer } = await ask('Hello', id);
    for (const found of [run.output, result.output, answer.metadata['output']]) {
      expect(JSON.stringify(found)).toBe(text);
    }
  });

  it('is answered to a request that waits, and to useChat', async () => {
    model.script({ kind: 'text', deltas: ['{}'] }, { kind: 'text', deltas: DELTAS });
    const thread = await ThreadClient.create(app, agentId);
    const waited = await askAndWait(thread, 'Hello', 30).expect(200);
    expect(waited.body).toMatchObject({ status: 'completed', output: OUTPUT });
  });

  it.each([
    ['5', { sdk: ai5 as unknown as typeof ai, accept: 'text/event-stream;ai=5' }],
    ['6', { sdk: ai6 as unknown as typeof ai, accept: 'text/event-stream;ai=6' }],
    ['7', { sdk: ai }],
  ])('is in the metadata of the message that useChat of ai %s has', async (version, reader) => {
    model.script({ kind: 'text', deltas: ['{}'] }, { kind: 'text', deltas: DELTAS });
    const thread = await ThreadClient.create(app, agentId);
    const chat = memoryChat({ id: thread.id, chat: chatOf(app, agentId), ...reader });
    await chat.sendMessage({ text: 'Hello' });
    expect(chat).toMatchObject({ status: 'ready', error: undefined, lastMessage: { metadata: { output: OUTPUT } } });
    const shown = JSON.parse(JSON.stringify(chat.lastMessage?.parts)) as unknown[];
    expect(shown.at(-1)).toMatchObject({ type: 'text', text: DELTAS.join('') });
    if (version === '7') expect(shown).toEqual((await thread.messages()).at(-1)?.parts);
  });

  it('is of the fallback that has answered', async () => {
    const fallbacks = [{ provider_id: providerId, model: 'other' }];
    await succeed(app, 'MODEL_TIERS_SET', { data: { fast: { provider_id: providerId, model: 'm', fallbacks } } });
    model.script(
      { kind: 'text', deltas: ['{}'] },
      { kind: 'break-after', deltas: DELTAS.slice(0, 1) },
      { kind: 'text', deltas: DELTAS },
    );
    const { run } = await ask('Hello', agentId, 'fast');
    expect(run).toMatchObject({ status: 'completed', output: OUTPUT, model: 'openai-compatible/other' });
    // The fallback gets the answer that was not accepted, too.
    expect(model.requests[2]?.body.messages).toHaveLength(model.requests[1]?.body.messages.length ?? 0);
  });

  it('follows an approval', async () => {
    const connections = [{ connection_id: connectionId, selected_tools: null, approval: 'all' }];
    const id = await createAgent(app, [], { output_schema: SCHEMA, connections });
    const thread = await ThreadClient.create(app, id);
    model.script(
      { kind: 'tool-calls', calls: [CALL] },
      { kind: 'text', deltas: ['{}'] },
      { kind: 'text', deltas: DELTAS },
    );
    const taskId = await thread.postMessage('Search.');
    const { pending_approvals: pending } = await thread.waitFor(taskId, 'waiting');
    await answerApproval(app, thread.id, pending[0]?.id ?? '', { approved: true }).expect(202);
    expect(await thread.waitFor(taskId, 'completed')).toMatchObject({ output: OUTPUT, attempt: 2 });
    await thread.expectAnswer(taskId, await thread.collect(taskId));
  });

  it('is told to webhooks without its text, or with it if the agent says so', async () => {
    const receiver = await WebhookReceiver.start();
    const webhook = await createWebhook(app, receiver.url);
    try {
      const cases: [object, object][] = [
        [{ output_schema: SCHEMA }, { has_output: true }],
        [
          { output_schema: SCHEMA, webhook_output: true },
          { has_output: true, output: OUTPUT },
        ],
        [{ webhook_output: true }, {}],
      ];
      for (const [data, expected] of cases) {
        model.script({ kind: 'text', deltas: DELTAS });
        const { taskId } = await ask('Hello', await createAgent(app, [], data));
        const [message] = await receiver.messagesOf(taskId);
        const body = new Webhook(webhook.secret).verify(message?.body ?? '', message?.headers as never);
        const { has_output, output } = (body as { data: Record<string, unknown> }).data;
        expect(JSON.parse(JSON.stringify({ has_output, output }))).toEqual(expected);
      }
    } finally {
      await deleteWebhook(app, webhook);
      await receiver.close();
    }
  });

  it('is taken by nobody else', async () => {
    model.script({ kind: 'text', deltas: DELTAS });
    const { taskId } = await ask();
    const other = await newTenant();
    try {
      expectProblem(await other.tool('RUN_GET', { id: taskId }), 404, 'run_not_found');
      expectProblem(await readRun(other, taskId), 404, 'run_not_found');
    } finally {
      await other.close();
    }
  });

  it('is of the built-in model too', async () => {
    await succeed(app, 'MODEL_TIERS_SET', { data: { smart: null } });
    const { run } = await ask('Hello');
    expect(run).toMatchObject({ status: 'completed', output: { part: 'Hello', broken: true } });
  });
});
