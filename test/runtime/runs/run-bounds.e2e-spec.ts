import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import { RunExecution } from '../../../src/runtime/runs/records/run-execution.js';
import type { MessageItem } from '../../../src/runtime/threads/thread.dto.js';
import {
  type CollectedStream,
  connect,
  createAgent,
  serveTier,
  textOf,
  ThreadClient,
} from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { chatStream } from '../../support/chat-stream.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { legacyServer, type ScriptedServer, sendJson, startScripted } from '../../support/scripted-upstream.js';

const DEEP = 6000;

let app: TestApp;
let fake: FakeOpenAI;
let upstream: ScriptedServer;
let agentId: string;

beforeAll(async () => {
  [app, fake, upstream] = await Promise.all([startTestApp(), startFakeOpenAI(), startScripted(strangeTools().script)]);
  agentId = await createAgent(app, [await connect(app, upstream.url)]);
  await serveTier(app, 'thinking', fake, { model: 'fake-model' });
});

afterAll(async () => {
  await app?.close();
  await fake?.close();
  await upstream?.close();
});

/** `echo` says what it got; the other tools answer as their names say. */
function strangeTools() {
  return legacyServer(({ message }, response) => {
    if (message.method !== 'tools/call') {
      const tools = ['echo', 'deep', 'rubbish'].map((name) => ({ name, inputSchema: { type: 'object' } }));
      return sendJson(response, { jsonrpc: '2.0', id: message.id, result: { tools } });
    }
    const content = [{ type: 'text', text: message.params?.['name'] === 'rubbish' ? 'a\u0000b\ud800c' : 'done' }];
    const structured = message.params?.['name'] === 'deep' ? `,"structuredContent":{"a":${nested(500)}}` : '';
    const result = `{"content":${JSON.stringify(content)}${structured}}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result}}`);
  });
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

interface Answered {
  thread: ThreadClient;
  run: RunItem;
  answer: MessageItem;
  collected: CollectedStream;
}

/** As `ask`, for an answer of so many parts that the SDK's reader of streams takes minutes for it. */
async function askForMuch(): Promise<{ run: RunItem; answer: MessageItem }> {
  const thread = await ThreadClient.create(app, agentId);
  const { taskId } = await thread.ask('Go', { tier: 'thinking' });
  return { run: await thread.run(taskId), answer: await thread.answer(taskId) };
}

/** Asks on a new thread; the run has to end in its first attempt, and the thread has to go on with either model. */
async function ask(text: string, tier?: string): Promise<Answered> {
  const thread = await ThreadClient.create(app, agentId);
  const { taskId, ...collected } = await thread.ask(text, tier === undefined ? {} : { tier });
  const answer = await thread.expectWhole(taskId, collected);
  const run = await thread.run(taskId);
  expect(run.attempt).toBe(1);
  for (const next of ['smart', 'thinking']) {
    const { taskId: nextId, chunks } = await thread.ask('Still there?', { tier: next });
    expect(await thread.run(nextId)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(textOf(chunks)).toBe(next === 'smart' ? 'You said: Still there?' : 'Hello from the fake model.');
  }
  return { thread, run, answer, collected };
}

/** A step of the fake provider that makes these calls, each with its arguments as text. */
function scriptCalls(calls: { id: string; name: string; input: string }[]): void {
  const frames = calls.map(({ id, name, input }, index) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: input } }],
  }));
  fake.script(chatStream(frames, 'tool_calls'));
}

function toolPartsOf({ parts }: MessageItem): Record<string, unknown>[] {
  return parts.filter((part) => 'toolCallId' in part) as unknown as Record<string, unknown>[];
}

describe('arguments that are nested too deeply', () => {
  it('in a message to the built-in model are refused, and the run continues', async () => {
    const { run, answer } = await ask(`/call echo {"a":${nested(DEEP)}}\n/call echo {"a":1}`);
    expect(run).toMatchObject({ status: 'completed' });
    expect(toolPartsOf(answer)[0]).toMatchObject({
      state: 'output-error',
      errorText: 'The call was not made: its arguments are nested more than 100 deep.',
    });
  });

  it('from a provider are refused, whether they come at once or in pieces', async () => {
    scriptCalls([
      { id: 'deep', name: 'echo', input: `{"a":${nested(3000)}}` },
      { id: 'flat', name: 'echo', input: '{"a":"[[["}' },
    ]);
    const { run, answer } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'completed' });
    expect(toolPartsOf(answer)).toMatchObject([
      { toolCallId: 'deep', state: 'output-error', errorText: expect.stringContaining('nested more than 100 deep') },
      { toolCallId: 'flat', state: 'output-available', input: { a: '[[[' } },
    ]);
  });

  it('in a result become an error of the tool', async () => {
    const { run, answer } = await ask('/call deep {}');
    expect(run).toMatchObject({ status: 'completed' });
    expect(toolPartsOf(answer)).toMatchObject([
      { state: 'output-error', errorText: expect.stringContaining('nested more than 100 deep') },
    ]);
  });
});

describe('a step with many tool calls', () => {
  it('executes 128 of them, says so of the others, and does not store the answer once for each', async () => {
    const calls = Array.from({ length: 3000 }, (_, n) => ({ id: `call_${n}`, name: 'echo', input: `{"n":${n}}` }));
    scriptCalls(calls);
    const before = upstream.calls('tools/call').length;
    const { run, answer } = await askForMuch();
    expect(run).toMatchObject({ status: 'completed', steps: 2 });
    expect(upstream.calls('tools/call').length - before).toBe(128);
    expect(run.attempt).toBe(1);
    const states = toolPartsOf(answer).map(({ state }) => state);
    expect(states.filter((state) => state === 'output-available')).toHaveLength(128);
    expect(states.filter((state) => state === 'output-error')).toHaveLength(2872);
  });

  it('ends the run where the answer has too many parts', async () => {
    scriptCalls(Array.from({ length: 5200 }, (_, n) => ({ id: `call_${n}`, name: 'echo', input: '{}' })));
    const { run } = await askForMuch();
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_too_large' } });
  });
});

describe('an answer that does not end', () => {
  const begun = (index: number): object => ({
    tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'echo', arguments: '' } }],
  });
  const continued = (piece: string): object => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] });

  it.each([
    ['in tool calls that are only begun', Array.from({ length: 150_000 }, (_, n) => begun(n))],
    ['in the arguments of one call', [begun(0), ...Array.from({ length: 300 }, () => continued('x'.repeat(100_000)))]],
  ])('%s fails the run, and the provider is no longer read', async (_, deltas) => {
    fake.script(chatStream(deltas, 'stop'));
    const asked = fake.requests.length;
    const { run } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_too_large' } });
    await eventually(() => fake.requests[asked]?.abandoned === true);
  });

  it.each([
    ['in text', 'content'],
    ['in reasoning', 'reasoning_content'],
  ])('%s fails the run, and the provider is no longer read', async (_, field) => {
    const deltas = Array.from({ length: 300 }, () => ({ [field]: 'x'.repeat(100_000) }));
    fake.script(chatStream(deltas, 'stop'));
    const asked = fake.requests.length;
    const { run, answer } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_too_large' } });
    expect(JSON.stringify(answer.parts).length).toBeLessThan(8 * 1_048_576);
    await eventually(() => fake.requests[asked]?.abandoned === true);
  });
});

describe('invalid responses of a provider', () => {
  it('in ids and names of tool calls is corrected', async () => {
    scriptCalls([
      { id: 'x'.repeat(1_000_000), name: 'echo', input: '{"n":1}' },
      { id: 'twice', name: 'echo', input: '{"n":2}' },
      { id: 'a\u0000\ud800', name: 'echo', input: '{"n":3}' },
      { id: 'odd', name: `no such tool ${'\u0000'.repeat(500)}`, input: '{}' },
    ]);
    scriptCalls([{ id: 'twice', name: 'echo', input: '{"n":4}' }]);
    const { run, answer } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'completed', steps: 3 });
    const parts = toolPartsOf(answer);
    expect(parts.map(({ state }) => state)).toEqual([
      'output-available',
      'output-available',
      'output-available',
      'output-error',
      'output-available',
    ]);
    expect(new Set(parts.map(({ toolCallId }) => toolCallId)).size).toBe(5);
    for (const { toolCallId, toolName } of parts) {
      expect(toolCallId).toMatch(/^[\x21-\x7e]{1,128}$/);
      expect(toolName).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }
  });

  it('in arguments with a prototype or with numbers beyond all bounds harms nothing', async () => {
    scriptCalls([
      { id: 'one', name: 'echo', input: '{"__proto__":{"polluted":true}}' },
      { id: 'two', name: 'echo', input: '{"n":1e999}' },
    ]);
    const { run } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'completed' });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('characters that the database or a provider refuses', () => {
  it('are replaced for the model', async () => {
    const json = JSON.stringify({ a: '\u0000\ud800' });
    scriptCalls([{ id: 'one', name: 'rubbish', input: json }]);
    const asked = fake.requests.length;
    const { run } = await ask('Go', 'thinking');
    expect(run).toMatchObject({ status: 'completed' });
    const sent = JSON.stringify(fake.requests.slice(asked).map(({ body }) => body));
    expect(sent).not.toMatch(/\\ud[89a-f]|\\u0000/i);
  });
});

describe('an answer that cannot be written', () => {
  afterEach(() => void jest.restoreAllMocks());

  it.each(['saveAnswer', 'finish'] as const)('by %s fails its run in the first attempt', async (method) => {
    const execution = app.app.get(RunExecution);
    const tooDeep = () => Promise.reject(new RangeError('Maximum call stack size exceeded'));
    const original = execution[method] as (...args: unknown[]) => Promise<never>;
    // A slow answer is also saved before its step is.
    const spy = jest.spyOn(execution, method) as jest.SpiedFunction<typeof original>;
    spy.mockImplementation((...args) =>
      JSON.stringify(args).includes('dynamic-tool') ? tooDeep() : original.apply(execution, args),
    );
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, chunks } = await thread.ask('/call echo {}');
    const run = await thread.run(taskId);
    expect(run).toMatchObject({ status: 'failed', attempt: 1 });
    expect(chunks.at(-1)).toEqual({ type: 'error', errorText: run.error?.message });
    expect(run.error?.code).toBe(method === 'finish' ? 'answer_unusable' : 'internal');
    spy.mockRestore();
    const next = await thread.ask('Next');
    expect(await thread.run(next.taskId)).toMatchObject({ status: 'completed' });
  });
});

describe('a stored message that no model can be sent', () => {
  it.each([
    [
      'of a tool call nested too deeply',
      `[{"type":"dynamic-tool","toolName":"echo","toolCallId":"c","state":"output-available","input":${nested(DEEP)},"output":1}]`,
    ],
    ['that is no list', '{"type":"text"}'],
    [
      'of parts that are none',
      '[null,1,{"type":7},{"type":"text"},{"type":"dynamic-tool","state":"output-available"}]',
    ],
    [
      'of a tool name that providers refuse',
      `[{"type":"dynamic-tool","toolName":"a b","toolCallId":"c","state":"output-available","input":{},"output":1}]`,
    ],
  ])('%s is left out', async (_, parts) => {
    const thread = await ThreadClient.create(app, agentId);
    const { taskId } = await thread.ask('First');
    await app.app
      .get(DataSource)
      .query(`UPDATE messages SET parts = $2 WHERE run_id = $1 AND role = 'assistant'`, [taskId, parts]);
    const asked = fake.requests.length;
    const next = await thread.ask('Second', { tier: 'thinking' });
    expect(await thread.run(next.taskId)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(JSON.stringify(fake.requests[asked]?.body.messages)).toContain('cannot be used and was left out');
  });
});
