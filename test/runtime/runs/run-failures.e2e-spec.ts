import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CollectedStream,
  connect,
  createAgent,
  serveTier,
  textOf,
  ThreadClient,
} from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type Behaviour, type FakeOpenAI, PROVIDER_SECRET, startFakeOpenAI } from '../../support/fake-openai.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

const PROVIDER_KEY = 'sk-test-secret-0123456789';
const RUN_TIMEOUT_MS = 9000;

let app: Tenant;
let fake: FakeOpenAI;
let tools: ToolServer;
let agentId: string;

beforeAll(async () => {
  [app, fake, tools] = await Promise.all([
    newTenant({ RUN_TIMEOUT_MS: String(RUN_TIMEOUT_MS) }),
    startFakeOpenAI({ apiKey: PROVIDER_KEY }),
    startToolServer('search'),
  ]);
  agentId = await createAgent(app, [await connect(app, tools.url)], { instructions: 'Answer in verse.' });
  await serveTier(app, 'smart', fake, { model: 'fake-model' }, { api_key: PROVIDER_KEY });
});

afterEach(async () => {
  // Whatever a run leaves behind, in any table: no secret, neither ours nor what a provider quotes.
  const dump = await app.query(
    `SELECT (SELECT json_agg(r) FROM runs r) AS runs, (SELECT json_agg(m) FROM messages m) AS messages,
              (SELECT json_agg(e) FROM run_event_batches e) AS events`,
  );
  expectNoSecret(dump);
  fake.requests.length = 0;
});

afterAll(async () => {
  await app?.close();
  await fake?.close();
  await tools?.close();
});

function expectNoSecret(value: unknown): void {
  const text = JSON.stringify(value);
  for (const secret of [PROVIDER_KEY, PROVIDER_SECRET, fake.baseUrl]) expect(text).not.toContain(secret);
}

/** Asks with these behaviours of the provider; the run must fail, everywhere alike. */
async function expectFailure(
  behaviours: Behaviour[],
  expected: { code: string; message: RegExp; text?: string },
): Promise<CollectedStream> {
  const thread = await ThreadClient.create(app, agentId);
  fake.script(...behaviours);
  const { taskId, ...collected } = await thread.ask('Hello');
  const answer = await thread.expectWhole(taskId, collected);
  const run = await thread.run(taskId);

  expect(run).toMatchObject({
    status: 'failed',
    error: { code: expected.code, message: expect.stringMatching(expected.message) },
    finish_reason: 'error',
    model: 'openai-compatible/fake-model',
  });
  expect(collected.chunks.at(-1)).toEqual({ type: 'error', errorText: run.error?.message });
  expect(collected.chunks.filter(({ type }) => type === 'error' || type === 'finish')).toHaveLength(1);
  expect(textOf(collected.chunks)).toBe(expected.text ?? '');
  expect(answer.metadata).toMatchObject({ taskId, finishReason: 'error', error: run.error });
  expect(await thread.status()).toBe('failed');
  expectNoSecret([collected, answer, run]);

  // The thread can go on, with what has arrived in its history.
  const next = await thread.ask('Again');
  await thread.expectWhole(next.taskId, next);
  expect(textOf(next.chunks)).toBe('Hello from the fake model.');
  expect(await thread.status()).toBe('completed');
  return collected;
}

describe('a provider that works', () => {
  it('streams its answer, with the instructions, the system messages and the temperature in its request', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('Hello', { system: ['Rhyme.'], temperature: 0.25 });
    const answer = await thread.expectWhole(taskId, collected);
    expect(textOf(collected.chunks)).toBe('Hello from the fake model.');
    expect(answer.metadata).toMatchObject({
      model: 'openai-compatible/fake-model',
      usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
      finishReason: 'stop',
    });
    expect(fake.requests[0]?.body).toMatchObject({
      model: 'fake-model',
      temperature: 0.25,
      messages: [
        { role: 'system', content: 'Answer in verse.\n\nRhyme.' },
        { role: 'user', content: 'Hello' },
      ],
      tools: [{ function: { name: 'search' } }],
    });
  });

  it('calls tools, several at once', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const calls = ['trains', 'planes'].map((text) => ({ name: 'search', arguments: { text }, id: `call_${text}` }));
    fake.script({ kind: 'tool-calls', calls }, { kind: 'text', deltas: ['Both ', 'found.'] });
    const { taskId, ...collected } = await thread.ask('Find both');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject(
      ['trains', 'planes'].map((text) => ({
        type: 'dynamic-tool',
        toolCallId: `call_${text}`,
        state: 'output-available',
        input: { text },
        output: { content: [{ type: 'text', text: `search says ${text}` }] },
      })),
    );
    expect(fake.requests[1]?.body.messages.slice(2)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_trains' }, { id: 'call_planes' }] },
      { role: 'tool', tool_call_id: 'call_trains', content: 'search says trains' },
      { role: 'tool', tool_call_id: 'call_planes', content: 'search says planes' },
    ]);
    expect(await thread.run(taskId)).toMatchObject({
      status: 'completed',
      steps: 2,
      usage: { inputTokens: 22, outputTokens: 14, totalTokens: 36 },
    });
  });

  it('learns that it called a tool that there is not', async () => {
    const thread = await ThreadClient.create(app, agentId);
    fake.script({ kind: 'tool-calls', calls: [{ name: 'no-such-tool', arguments: {} }] });
    const { taskId, ...collected } = await thread.ask('Try');
    const { parts } = await thread.expectWhole(taskId, collected);
    const errorText = expect.stringContaining('does not exist');
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([{ state: 'output-error', errorText }]);
    expect(fake.requests[1]?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: errorText });
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2 });
  });
});

describe('a provider that', () => {
  it('answers 401 fails the run at once', async () => {
    // The fake quotes the key that it gets.
    const message = /refused the credential \(HTTP 401\)\. It says: No answer to you, who sent Bearer \*\*\*\.$/;
    await expectFailure([{ kind: 'status', status: 401 }], { code: 'provider_unauthorized', message });
  });

  it('answers 400 fails the run at once', async () => {
    await expectFailure([{ kind: 'status', status: 400 }], { code: 'provider_rejected', message: /HTTP 400/ });
  });

  it.each([
    [429, 'provider_rate_limited', /HTTP 429/],
    [500, 'provider_unavailable', /HTTP 500/],
  ] as const)('answers %i again and again fails the run', async (status, code, message) => {
    const refusal: Behaviour = { kind: 'status', status, headers: { 'retry-after-ms': '20' } };
    await expectFailure([refusal, refusal, refusal], { code, message });
  });

  it('answers 500 once is asked again, which the stream shows and the transcript does not keep', async () => {
    const thread = await ThreadClient.create(app, agentId);
    fake.script({ kind: 'status', status: 500, headers: { 'retry-after-ms': '20' } });
    const { taskId, ...collected } = await thread.ask('Hello');
    await thread.expectWhole(taskId, collected);
    expect(collected.chunks.filter(({ type }) => type === 'data-retry')).toEqual([
      {
        type: 'data-retry',
        transient: true,
        data: {
          attempt: 2,
          max_attempts: 3,
          delay_ms: 20,
          code: 'provider_unavailable',
          message: expect.stringMatching(/^The model provider is failing \(HTTP 500\)\. It says: /),
        },
      },
    ]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  });

  it('breaks off in mid-stream leaves what has arrived', async () => {
    const expected = { code: 'provider_unavailable', message: /was lost/, text: 'Once upon' };
    await expectFailure([{ kind: 'break-after', deltas: ['Once ', 'upon'] }], expected);
  });

  it('ends its stream without an end leaves what has arrived', async () => {
    const expected = { code: 'provider_bad_response', message: /invalid response/, text: 'Once' };
    await expectFailure([{ kind: 'cut-after', deltas: ['Once'] }], expected);
  });

  it('sends what is not JSON fails the run', async () => {
    const expected = { code: 'provider_bad_response', message: /invalid response/, text: 'Once' };
    await expectFailure([{ kind: 'malformed-after', deltas: ['Once'] }], expected);
  });

  it('sends an error in mid-stream fails the run', async () => {
    const error = { message: `${PROVIDER_SECRET} ${PROVIDER_KEY}`, type: 'server_error', code: 'x' };
    const expected = { code: 'provider_bad_response', message: /invalid response/, text: 'Once' };
    await expectFailure([{ kind: 'error-after', deltas: ['Once'], error }], expected);
  });

  it('answers with a page fails the run', async () => {
    const body = `<html>${PROVIDER_SECRET}</html>`;
    await expectFailure([{ kind: 'body', body }], { code: expect.any(String) as never, message: /./ });
  });

  it.each<[string, Behaviour, string]>([
    ['hangs', { kind: 'hang' }, ''],
    ['falls silent in mid-stream', { kind: 'hang-after', deltas: ['Once'] }, 'Once'],
  ])('%s fails the run when its time is up, and is hung up on', async (_, behaviour, text) => {
    await expectFailure([behaviour], { code: 'run_timeout', message: /exceeded its time limit/, text });
    await eventually(() => fake.requests[0]?.abandoned === true);
  });

  it('has gone away fails the run', async () => {
    const gone = await startFakeOpenAI();
    await serveTier(app, 'fast', gone, { model: 'm' }, { api_key: PROVIDER_KEY });
    await gone.close();
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('Hello', { tier: 'fast' });
    await thread.expectWhole(taskId, collected);
    const run = await thread.run(taskId);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
    expectNoSecret([collected, run]);
    expect(JSON.stringify([collected, run])).not.toContain(gone.baseUrl);
  });
});
