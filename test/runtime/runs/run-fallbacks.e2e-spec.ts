import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as ai from 'ai';
import * as ai5 from 'ai-5';
import * as ai6 from 'ai-6';
import { connect, createAgent, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type Behaviour, type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { chatOf, memoryChat, type MemoryChatOptions } from '../../support/memory-chat.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

const CALL = { name: 'search', arguments: { query: 'signal boxes' } };
const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };

let app: Tenant;
let first: FakeOpenAI;
let second: FakeOpenAI;
let tools: ToolServer;
let agentId: string;
/** The providers of `first` and `second`. */
let ids: [string, string];

beforeAll(async () => {
  [app, first, second, tools] = await Promise.all([
    newTenant(),
    startFakeOpenAI(),
    startFakeOpenAI(),
    startToolServer('search'),
  ]);
  agentId = await createAgent(app, [await connect(app, tools.url)]);
  ids = [await provider(first.baseUrl), await provider(second.baseUrl)];
});
afterAll(async () => {
  await Promise.all([first?.close(), second?.close(), tools?.close()]);
  await app?.close();
});
// A breaker belongs to a model: each test has models of its own.
let count = 0;
beforeEach(async () => {
  await setTier({});
  for (const model of [first, second]) model.requests.length = 0;
});

async function provider(baseUrl: string, kind = 'openai-compatible'): Promise<string> {
  const data = { title: 'Fake', kind, base_url: baseUrl };
  return (await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data })).item.id;
}

/** Lets a new model of `second` stand in for a new one of `first`. */
async function setTier(more: object, firstId = ids[0]): Promise<void> {
  count++;
  const fallbacks = [{ provider_id: ids[1], model: `second-${count}`, price: { input: 1, output: 2 } }];
  const data = { smart: { provider_id: firstId, model: `first-${count}`, fallbacks, ...more } };
  await succeed(app, 'MODEL_TIERS_SET', { data });
}

/** Asks, and expects a whole answer of the second model; returns the codes of the calls. */
async function expectFallback(): Promise<(string | null)[]> {
  const thread = await ThreadClient.create(app, agentId);
  const { taskId, ...collected } = await thread.ask('Hello');
  const answer = await thread.expectWhole(taskId, collected);
  const run = await thread.run(taskId);
  expect(run).toMatchObject({ status: 'completed', error: null, model: `openai-compatible/second-${count}` });
  expect(answer.metadata).toMatchObject({ model: run.model });
  const texts = answer.parts.filter((part) => (part as { type: string }).type === 'text');
  expect(texts).toMatchObject([{ text: 'Hello from the fake model.' }]);
  const { model_calls: calls } = run as unknown as { model_calls: Record<string, unknown>[] };
  expect(calls.at(-1)).toMatchObject({ step: 1, provider_id: ids[1], model: `second-${count}`, cost_usd: 0.000025 });
  expect(calls[0]).toMatchObject({ step: 1, provider_id: ids[0], model: `first-${count}`, cost_usd: null });
  return calls.map(({ error_code: code }) => code as string | null);
}

const NO_ANSWER: [string, Behaviour, string][] = [
  ...[401, 402, 403, 404, 408, 409, 500, 502, 503, 529].map((status): [string, Behaviour, string] => [
    `HTTP ${status}`,
    { kind: 'status', status },
    status === 401 || status === 403
      ? 'provider_unauthorized'
      : status === 402 || status === 409
        ? 'provider_rejected'
        : status === 404
          ? 'provider_not_found'
          : status === 408
            ? 'provider_timeout'
            : 'provider_unavailable',
  ]),
  ['a page', { kind: 'body', body: '<html></html>' }, 'provider_bad_response'],
];

const FAULTS: [string, Omit<Extract<Behaviour, { deltas: string[] }>, 'deltas'>, string][] = [
  ['a lost connection', { kind: 'break-after' }, 'provider_unavailable'],
  ['an early end', { kind: 'cut-after' }, 'provider_bad_response'],
  ['an invalid frame', { kind: 'malformed-after' }, 'provider_bad_response'],
  ['an error, such as overload', { kind: 'error-after', error: OVERLOADED } as never, 'provider_unavailable'],
];
const PLACES: [string, object][] = [
  ['before the first chunk', { deltas: [] }],
  ['in the text', { deltas: ['What readers ', 'have already'] }],
  ['in a tool call', { deltas: ['Let me see. '], call: CALL }],
];

describe('a run whose model has a fallback', () => {
  it.each(NO_ANSWER)('goes on after %s', async (_, behaviour, code) => {
    first.script(behaviour);
    expect(await expectFallback()).toEqual([code, null]);
    // No waiting for a model that has a substitute.
    expect(first.requests).toHaveLength(1);
  });

  it.each(PLACES.flatMap(([place, at]) => FAULTS.map(([name, ...fault]) => [name, place, at, ...fault] as const)))(
    'goes on after %s %s',
    async (_name, _place, at, fault, code) => {
      first.script({ ...fault, ...at } as Behaviour);
      expect(await expectFallback()).toEqual([code, null]);
    },
  );

  it('calls the model again while it limits the rate, and goes on then', async () => {
    first.script(
      ...Array.from({ length: 3 }, (): Behaviour => ({
        kind: 'status',
        status: 429,
        headers: { 'retry-after-ms': '1' },
      })),
    );
    expect(await expectFallback()).toEqual(['provider_rate_limited', null]);
    expect(first.requests).toHaveLength(3);
  });

  it('goes on when the answer does not begin in time, and when the provider cannot be reached', async () => {
    await setTier({ first_chunk_timeout_s: 1 });
    first.script({ kind: 'hang' });
    expect(await expectFallback()).toEqual(['provider_timeout', null]);
    first.script({ kind: 'hang-after', deltas: [] });
    expect(await expectFallback()).toEqual(['provider_timeout', null]);
    await eventually(() => first.requests.every(({ abandoned }) => abandoned));

    const closed = await startFakeOpenAI();
    await closed.close();
    const known = ids[0];
    ids[0] = await provider(closed.baseUrl);
    await setTier({});
    expect(await expectFallback()).toEqual(['provider_unavailable', null]);
    ids[0] = known;
  });

  it('keeps what earlier steps have done, and stays with the fallback', async () => {
    first.script({ kind: 'tool-calls', calls: [CALL] }, { kind: 'break-after', deltas: ['Lost'] });
    second.script({ kind: 'tool-calls', calls: [CALL] }, { kind: 'text', deltas: ['Found.'] });
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('Search.');
    const { parts } = await thread.expectWhole(taskId, collected);
    const calls = parts.filter((part) => (part as { type: string }).type === 'dynamic-tool');
    expect(calls).toMatchObject([{ state: 'output-available' }, { state: 'output-available' }]);
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
    expect(textOf(collected.chunks)).toContain('Found.');
    // The next run begins with the first model.
    await thread.ask('Hello');
    expect(first.requests).toHaveLength(3);
  });

  it.each([400, 413, 422])('fails after %d, which is of the request', async (status) => {
    first.script({ kind: 'status', status });
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('Hello');
    expect(await thread.run(taskId)).toMatchObject({ status: 'failed', error: { code: 'provider_rejected' } });
    expect(second.requests).toHaveLength(0);
  });

  it('fails like the last model when none is left', async () => {
    first.script({ kind: 'status', status: 401 });
    second.script({ kind: 'status', status: 404 });
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('Hello');
    await thread.expectWhole(taskId, collected);
    expect(await thread.run(taskId)).toMatchObject({ status: 'failed', error: { code: 'provider_not_found' } });
  });

  it('has room for a whole answer after one that was taken back', async () => {
    const deltas = Array.from({ length: 54 }, () => 'x'.repeat(100_000));
    first.script({ kind: 'break-after', deltas });
    second.script({ kind: 'text', deltas });
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('Hello');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  });

  it('does not wait for long while the rate is limited, and tells why the model failed that was called', async () => {
    await setTier({ fallbacks: [{ provider_id: await provider(second.baseUrl, 'openai'), model: 'no-sound' }] });
    const url = `data:audio/wav;base64,${Buffer.from('RIFF\0\0\0\0WAVEfmt ').toString('base64')}`;
    first.script({ kind: 'status', status: 429, headers: { 'retry-after': '30' } });
    const thread = await ThreadClient.create(app, agentId);
    const parts = [{ type: 'file', mediaType: 'audio/wav', url }];
    const { body } = await thread.post({ messages: [{ role: 'user', parts }], agent: { id: agentId } });
    const taskId = (body as { taskId: string }).taskId;
    const { error } = await thread.waitFor(taskId, 'failed');
    expect(error).toMatchObject({ code: 'provider_rate_limited' });
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  });

  it('begins with the fallback while the breaker of the model is open', async () => {
    for (let n = 0; n < 3; n++) {
      first.script({ kind: 'status', status: 500 });
      await expectFallback();
    }
    const thread = await ThreadClient.create(app, agentId);
    await thread.ask('Hello');
    expect([first.requests.length, second.requests.length]).toEqual([3, 4]);
  });

  it('hides the providers from a browser token', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('Hello');
    const issued = { thread_id: thread.id, permissions: ['read'] };
    const { token } = (await app.tool('THREAD_TOKEN_CREATE', issued)).body as { token: string };
    const { item } = (await app.tool('RUN_GET', { id: taskId }, token)).body as {
      item: { model_calls: { provider_id: unknown }[] };
    };
    expect(item.model_calls).toMatchObject([{ provider_id: null }]);
  });
});

const READERS: [string, Pick<MemoryChatOptions, 'sdk' | 'accept'>][] = [
  ['5', { sdk: ai5 as unknown as typeof ai, accept: 'text/event-stream;ai=5' }],
  ['6', { sdk: ai6 as unknown as typeof ai, accept: 'text/event-stream;ai=6' }],
  ['7', { sdk: ai }],
];

describe.each(READERS)('useChat of ai %s', (version, reader) => {
  it.each(PLACES)('ends ready after a fault %s', async (_, at) => {
    first.script({ kind: 'break-after', ...at } as Behaviour);
    const thread = await ThreadClient.create(app, agentId);
    const chat = memoryChat({ id: thread.id, chat: chatOf(app, agentId), ...reader });
    await chat.sendMessage({ text: 'Hello' });
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    const shown = JSON.parse(JSON.stringify(chat.lastMessage?.parts)) as { type: string; text?: string }[];
    expect(shown.at(-1)).toMatchObject({ type: 'text', text: 'Hello from the fake model.', state: 'done' });
    // Older versions keep what was interrupted until they load the transcript.
    if (version === '7') expect(shown).toEqual((await thread.messages()).at(-1)?.parts);
  });
});
