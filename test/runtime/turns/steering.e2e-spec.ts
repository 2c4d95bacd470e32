import { describe, expect, it } from '@jest/globals';
import * as ai from 'ai';
import * as ai5 from 'ai-5';
import * as ai6 from 'ai-6';
import supertest from 'supertest';
import { createAgent, LONG, serveTier, succeed, textOf, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';
import { chatOf, memoryChat } from '../../support/memory-chat.js';
import { newTenant } from '../../support/tenant.js';
import { answer, createAskingAgent, SCRIPTED, startWaiting } from '../approvals/approvals.support.js';
import { png } from '../files/files.support.js';
import { HELD_CALL, HOLD, kindsOf, steer, untilChunk, useSteeringApp } from './steering.support.js';

const own = useSteeringApp(newTenant);

/** Steers a run whose model has said the deltas, and says the answer then. Returns what readers have got. */
async function steerDuringAnswer(agentId: string, deltas: string[], answer: string) {
  const thread = await ThreadClient.create(own.app, agentId);
  const stream = await thread.stream();
  const steered = Promise.withResolvers<void>();
  own.model.script({ kind: 'text', deltas, until: steered.promise }, { kind: 'text', deltas: [answer] });
  const taskId = await thread.postMessage('Count', SCRIPTED);
  await untilChunk(thread, taskId, 'text-delta');
  expect(await steer(thread, 'Go on')).toEqual({ taskId, steered: true });
  // The worker hears of one thing after the other: once it has heard of this, it has heard of the steer.
  const other = await ThreadClient.create(own.app, own.agentId);
  const otherId = await other.postMessage(LONG);
  await other.waitFor(otherId, 'running');
  await other.cancel(otherId).expect(202);
  await other.waitFor(otherId, 'cancelled');
  steered.resolve();
  return { thread, taskId, collected: await stream.collectUntilDone() };
}

describe('a message to a run under way', () => {
  it('is taken before the next model call, and stands in the answer and in the transcript', async () => {
    const { thread, taskId, stream } = await own.startHeld();
    const messageId = unusedId();
    const system = ['Answer in English.'];
    expect(await steer(thread, 'No, the other one', { messageId, system })).toEqual({ taskId, steered: true });
    own.model.script({ kind: 'text', deltas: ['The other one.'] });
    own.release();

    const collected = await stream.collectUntilDone();
    expect(own.asked()).toEqual([
      'system: Answer in English.',
      'user: Which one?',
      'assistant: (calls)',
      'tool: held',
      'user: No, the other one',
    ]);
    const stored = await thread.expectWhole(taskId, collected);
    const data = { messageId, text: 'No, the other one', interrupted: false };
    expect(stored.parts.map((part) => (part as { type: string }).type)).toEqual([
      'step-start',
      'dynamic-tool',
      'data-steer',
      'step-start',
      'text',
    ]);
    expect(stored.parts[2]).toEqual({ type: 'data-steer', id: expect.any(String), data });
    const messages = await thread.messages();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'system', 'user', 'assistant']);
    expect(messages[2]).toMatchObject({
      id: messageId,
      metadata: { taskId, steerId: (stored.parts[2] as { id: string }).id },
    });
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2 });

    await thread.ask('And now?', SCRIPTED);
    expect(own.asked()).toEqual([
      'user: Which one?',
      'assistant: (calls)',
      'tool: held',
      'user: No, the other one',
      'assistant: The other one.',
      'user: And now?',
    ]);
  });

  it('makes the run go on if it comes during the last model call', async () => {
    const { thread, taskId, collected } = await steerDuringAnswer(own.agentId, ['one ', 'two ', 'three'], 'Four.');
    expect(textOf(collected.chunks)).toBe('one two threeFour.');
    expect(own.asked()).toEqual(['user: Count', 'assistant: one two three', 'user: Go on']);
    await thread.expectWhole(taskId, collected);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2, attempt: 1 });
  });

  it('makes the run go on if it comes during an answer in the shape of the agent, whose output is the later one', async () => {
    const output_schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
    const id = await createAgent(own.app, [], { output_schema });
    const { thread, taskId, collected } = await steerDuringAnswer(id, ['{"count":', '1', '}'], '{"count":2}');
    const stored = await thread.expectWhole(taskId, collected);
    expect(stored.metadata).toMatchObject({ output: { count: 2 } });
    expect(collected.chunks.filter(({ type }) => type === 'data-output')).toMatchObject([{ data: { count: 2 } }]);
    const run = await thread.run(taskId);
    expect(run).toMatchObject({ status: 'completed', steps: 2, output: { count: 2 } });
    expect(own.asked().slice(-3)).toEqual(['user: Count', 'assistant: {"count":1}', 'user: Go on']);
  });

  it('gives its system messages to all model calls that follow, and its files', async () => {
    const { thread, taskId, stream } = await own.startHeld();
    const url = `data:image/png;base64,${png().toString('base64')}`;
    const parts = [{ type: 'file', mediaType: 'image/png', url }];
    const messages = [
      { role: 'system', parts: [{ type: 'text', text: 'Answer in English.' }] },
      { role: 'user', parts },
    ];
    const { body } = await thread.steer({ messages, agent: { id: own.agentId } }).expect(202);
    expect(body).toEqual({ taskId, steered: true });
    own.model.script(HOLD, { kind: 'text', deltas: ['A gear.'] });
    own.release();
    await thread.expectWhole(taskId, await stream.collectUntilDone());
    const asked = own.model.requests.map(({ body: { messages: all } }) => all);
    expect(asked).toHaveLength(3);
    for (const [first, ...others] of asked.slice(1)) {
      expect(first).toMatchObject({ role: 'system', content: 'Answer in English.' });
      expect(others).toContainEqual({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });
    }
  });

  it('that interrupts ends the model call, and what was said stays', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const stream = await thread.stream();
    own.model.script({ kind: 'hang-after', deltas: ['I think that'] }, { kind: 'text', deltas: ['Fine.'] });
    const taskId = await thread.postMessage('Tell me', SCRIPTED);
    await untilChunk(thread, taskId, 'text-delta');
    expect(await steer(thread, 'Stop', { interrupt: true })).toEqual({ taskId, steered: true });
    const collected = await stream.collectUntilDone();
    expect(own.asked()).toEqual(['user: Tell me', 'assistant: I think that', 'user: Stop']);
    const stored = await thread.expectWhole(taskId, collected);
    expect(stored.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I think that', state: 'done' },
      { type: 'data-steer', data: { text: 'Stop', interrupted: true } },
      { type: 'step-start' },
      { type: 'text', text: 'Fine.' },
    ]);
    await eventually(() => expect(own.model.requests[0]).toMatchObject({ abandoned: true }));
    expect(await thread.run(taskId)).toMatchObject({
      status: 'completed',
      steps: 2,
      model_calls: [{ error_code: 'interrupted' }, { error_code: null }],
    });
  });

  it('that interrupts ends a call that the model has begun, without making it', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const stream = await thread.stream();
    own.model.script({ kind: 'hang-after', deltas: ['a'], call: HELD_CALL });
    const taskId = await thread.postMessage('Call it', SCRIPTED);
    await untilChunk(thread, taskId, 'tool-input-start');
    await steer(thread, 'Do not', { interrupt: true });
    const stored = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(stored.parts).toContainEqual(
      expect.objectContaining({ state: 'output-error', errorText: expect.stringContaining('was not made') }),
    );
    expect(own.upstream.calls).toEqual([]);
  });

  it('that interrupts ends a tool call', async () => {
    const { thread, taskId, stream } = await own.startHeld();
    await steer(thread, 'Never mind', { interrupt: true });
    const collected = await stream.collectUntilDone();
    const stored = await thread.expectWhole(taskId, collected);
    expect(stored.parts[1]).toMatchObject({
      type: 'dynamic-tool',
      state: 'output-error',
      errorText: expect.stringContaining('interrupted'),
    });
    expect(own.asked().at(-1)).toBe('user: Never mind');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  it('waits with a run that waits for an approval, which stays open', async () => {
    const asking = await createAskingAgent(own.app, own.connectionId, 'all');
    own.model.script(HOLD);
    const { thread, taskId, stream, approvals } = await startWaiting(own.app, asking, 'Which one?', SCRIPTED);
    expect(await steer(thread, 'The other one', { interrupt: true })).toEqual({ taskId, steered: true });
    expect(await thread.run(taskId)).toMatchObject({
      status: 'waiting',
      pending_approvals: [{ id: approvals[0]?.id }],
    });
    own.release();
    await answer(own.app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    const collected = await stream.collectUntilDone();
    expect(own.asked()).toEqual(['user: Which one?', 'assistant: (calls)', 'tool: held', 'user: The other one']);
    await thread.expectAnswer(taskId, collected);
  });

  it('is an ordinary message without such a run', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const first = await steer(thread, 'hello');
    expect(first.steered).toBe(false);
    await thread.waitFor(first.taskId, 'completed');
    const second = await steer(thread, 'hello again', { interrupt: true });
    expect(second).toEqual({ taskId: expect.not.stringMatching(first.taskId), steered: false });
    await thread.waitFor(second.taskId, 'completed');
    expect((await thread.messages()).map(({ metadata }) => metadata['taskId'])).toEqual([
      first.taskId,
      first.taskId,
      second.taskId,
      second.taskId,
    ]);
  });

  it('becomes a run of its own when the run is cancelled first, and those after it too', async () => {
    const { thread, taskId } = await own.startHeld();
    for (const text of ['one', 'two']) expect(await steer(thread, text)).toEqual({ taskId, steered: true });
    await thread.cancel(taskId).expect(202);
    await thread.waitFor(taskId, 'cancelled');
    await eventually(async () => expect(await thread.status()).toBe('completed'));
    const messages = await thread.messages();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
    expect(messages.map(({ metadata }) => metadata['steerId'])).toEqual(messages.map(() => undefined));
    expect(new Set(messages.map(({ metadata }) => metadata['taskId'])).size).toBe(3);
    const [, one, two] = [...new Set(messages.map(({ metadata }) => metadata['taskId'] as string))];
    for (const run of [one, two]) {
      expect(await thread.run(run ?? '')).toMatchObject({ status: 'completed', tier: 'smart', attempt: 1 });
      await thread.expectWhole(run ?? '', await thread.collect(run ?? ''));
    }
    expect(await own.app.query('SELECT FROM run_steers WHERE thread_id = $1', [thread.id])).toEqual([]);
  });

  it('becomes a run of its own when the model call fails during which it comes', async () => {
    const lost = await startFakeOpenAI();
    await serveTier(own.app, 'fast', lost, { model: 'lost' });
    try {
      lost.script({ kind: 'hang-after', deltas: ['I think that'] });
      const thread = await ThreadClient.create(own.app, own.agentId);
      const failing = await thread.postMessage('Tell me', { tier: 'fast' });
      await untilChunk(thread, failing, 'text-delta');
      expect(await steer(thread, 'Go on')).toEqual({ taskId: failing, steered: true });
      await lost.close();
      expect(await thread.waitFor(failing, 'failed')).toMatchObject({ error: { code: 'provider_unavailable' } });
      await eventually(async () => expect(await thread.status()).toBe('completed'));
      const messages = await thread.messages();
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
      const taskId = messages[3]?.metadata['taskId'] as string;
      expect(taskId).not.toBe(failing);
      expect(await thread.run(taskId)).toMatchObject({ status: 'completed', tier: 'smart' });
    } finally {
      await lost.close();
      await succeed(own.app, 'MODEL_TIERS_SET', { data: { fast: null } });
    }
  });

  it('becomes a run of its own when the run has no step left', async () => {
    const agentId = await createAgent(own.app, [own.connectionId], { max_steps: 1 });
    own.model.script(HOLD);
    const thread = await ThreadClient.create(own.app, agentId);
    const taskId = await thread.postMessage('Which one?', SCRIPTED);
    await eventually(() => expect(own.upstream.calls).toHaveLength(1));
    expect(await steer(thread, 'The other one')).toEqual({ taskId, steered: true });
    own.release();
    await thread.waitFor(taskId, 'completed');
    await eventually(async () => expect(await thread.messages()).toHaveLength(4));
    expect((await thread.messages()).map(({ metadata }) => metadata['taskId'] === taskId)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('is superseded with the answer that it steered', async () => {
    const { thread, taskId } = await own.startHeld();
    await steer(thread, 'The other one');
    own.release();
    await thread.waitFor(taskId, 'completed');
    const before = await thread.messages();
    const { body } = await regenerate(thread).expect(202);
    await thread.waitFor((body as { taskId: string }).taskId, 'completed');
    const after = await thread.messages();
    expect(after.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(after[0]).toEqual(before[0]);
    expect(own.asked().at(-1)).toBe('user: Which one?');
  });
});

function regenerate({ id }: ThreadClient): supertest.Test {
  return supertest(own.app.url)
    .post(`/api/${own.app.org}/agent-runtime/threads/${id}/regenerate`)
    .set('authorization', `Bearer ${own.app.apiKey}`)
    .send({});
}

it('shows the kinds of chunks that clients know', async () => {
  const { thread, stream } = await own.startHeld();
  await steer(thread, 'Look');
  own.release();
  expect(kindsOf((await stream.collectUntilDone()).chunks)).toEqual([
    'start',
    'start-step',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-available',
    'tool-output-available',
    'finish-step',
    'data-steer',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
});

it.each([
  ['5', { sdk: ai5 as unknown as typeof ai, accept: 'text/event-stream;ai=5' }],
  ['6', { sdk: ai6 as unknown as typeof ai, accept: 'text/event-stream;ai=6' }],
  ['7', { sdk: ai }],
])('stands in the message that useChat of ai %s has', async (version, reader) => {
  own.model.script(HOLD, { kind: 'text', deltas: ['The other one.'] });
  const agentId = await createAgent(own.app, [own.connectionId], SCRIPTED);
  const thread = await ThreadClient.create(own.app, agentId);
  const chat = memoryChat({ id: thread.id, chat: chatOf(own.app, agentId), ...reader });
  const sent = chat.sendMessage({ text: 'Which one?' });
  await eventually(() => expect(own.upstream.calls).toHaveLength(1));
  await steer(thread, 'The other one');
  own.release();
  await sent;
  expect(chat).toMatchObject({ status: 'ready', error: undefined });
  const shown = JSON.parse(JSON.stringify(chat.lastMessage?.parts)) as unknown[];
  expect(shown).toMatchObject([
    { type: 'step-start' },
    { type: 'dynamic-tool', state: 'output-available' },
    { type: 'data-steer', data: { text: 'The other one', interrupted: false } },
    { type: 'step-start' },
    { type: 'text', text: 'The other one.', state: 'done' },
  ]);
  if (version === '7') expect(shown).toEqual((await thread.messages()).at(-1)?.parts);
});
