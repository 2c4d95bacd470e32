import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { dynamicTool, generateText, isStepCount, jsonSchema, streamText, type ModelMessage, type ToolSet } from 'ai';
import { BuiltinFailure } from './builtin-failure.js';
import { createEchoModel } from './echo-model.js';

const anyObject = jsonSchema<Record<string, unknown>>({ type: 'object' });
const tools: ToolSet = {
  upper: dynamicTool({
    inputSchema: anyObject,
    execute: async (input) => ({ content: [{ type: 'text', text: JSON.stringify(input).toUpperCase() }] }),
  }),
  count: dynamicTool({ inputSchema: anyObject, execute: async () => 3 }),
  broken: dynamicTool({
    inputSchema: anyObject,
    execute: async () => {
      throw new Error('out of order');
    },
  }),
};

/** Runs a user message through the agent loop of `ai`; gives the text and the tool calls of each step. */
async function run(message: string, before: ModelMessage[] = []) {
  const errors: unknown[] = [];
  const result = streamText({
    model: createEchoModel(),
    tools,
    stopWhen: isStepCount(10),
    messages: [...before, { role: 'user', content: message }],
    onError: ({ error }) => void errors.push(error),
  });
  const parts = await collect(result.stream);
  const steps = await result.steps;
  return {
    deltas: parts.flatMap((part) => (part.type === 'text-delta' ? part.text : [])),
    texts: steps.map((step) => step.text),
    calls: steps.flatMap((step) => step.toolCalls.map(({ toolCallId, toolName }) => `${toolCallId} ${toolName}`)),
    finishReason: await result.finishReason,
    usage: await result.totalUsage,
    messages: await result.responseMessages,
    errors,
  };
}

describe('createEchoModel', () => {
  it('repeats the message word by word', async () => {
    const { deltas, finishReason, usage } = await run('good  morning\nto all');
    expect(deltas).toEqual(['You ', 'said: ', 'good  ', 'morning\n', 'to ', 'all']);
    expect(finishReason).toBe('stop');
    expect(usage).toMatchObject({ inputTokens: 4, outputTokens: 6, totalTokens: 10 });
  });

  it('streams numbered words, each directive in its own line', async () => {
    expect((await run('hi\n/words 3\n/words 1')).texts).toEqual(['You said: hi\nword1 word2 word3\nword1']);
  });

  it('streams random words that differ at every call', async () => {
    const [first, second] = [await run('/random 40'), await run('/random 40')];
    expect(first.deltas).toHaveLength(40);
    expect(first.texts[0]).toMatch(/^[0-9a-f]{8}( [0-9a-f]{8}){39}$/);
    expect(second.texts[0]).not.toBe(first.texts[0]);
    expect((await run('/random many')).texts).toEqual(['/random requires a number of words, as in "/random 20".']);
  });

  it('calls a tool and reports it in the next step', async () => {
    const { texts, calls, finishReason } = await run('hi\n/call upper {"a":"b"}');
    expect(texts).toEqual(['You said: hi', 'upper returned: {"A":"B"}']);
    expect(calls).toEqual(['call-1 upper']);
    expect(finishReason).toBe('stop');
  });

  it('calls tools one after the other and continues between them without repeating itself', async () => {
    const { texts, calls } = await run(
      '/words 1\n/call count\n/words 2\n/call count {}\n/call upper {"a":1}\n/words 1',
    );
    expect(calls).toEqual(['call-1 count', 'call-2 count', 'call-3 upper']);
    expect(texts).toEqual([
      'word1',
      'count returned: 3\nword1 word2',
      'count returned: 3',
      'upper returned: {"A":1}\nword1',
    ]);
  });

  it('reports a failed tool and an invalid directive, and continues', async () => {
    const { texts } = await run('/call missing {}\n/call broken {"a":\n/call broken {}\n/wait soon\n/words 1');
    expect(texts).toEqual([
      'There is no tool "missing" to call.\nThe arguments of "/call broken" are not a JSON object.',
      'broken failed: Error: out of order\n/wait requires a number of milliseconds, as in "/wait 500".\nword1',
    ]);
  });

  it('looks at the last user message only, and gives the calls of a later turn new ids', async () => {
    const first = await run('/call count');
    const { texts, calls } = await run('/call count', [{ role: 'user', content: '/call count' }, ...first.messages]);
    expect(calls).toEqual(['call-2 count']);
    expect(texts).toEqual(['', 'count returned: 3']);
  });

  it('fails on /fail, after the directives before it', async () => {
    const { deltas, errors, finishReason } = await run('hi\n/fail out of coal\n/words 1');
    expect(deltas.join('')).toBe('You said: hi');
    expect(errors).toEqual([new BuiltinFailure('out of coal')]);
    expect(finishReason).toBe('error');
  });

  it('waits, but not when it is aborted', async () => {
    const controller = new AbortController();
    const { stream } = await createEchoModel().doStream({ prompt: ask('/wait 60000'), abortSignal: controller.signal });
    setTimeout(() => controller.abort(new Error('stop it')), 10);
    await expect(collect(stream)).rejects.toThrow('stop it');
  });

  it('does not keep waiting for a reader that has gone', async () => {
    const { stream } = await createEchoModel().doStream({ prompt: ask('/wait 60000') });
    const reader = stream.getReader();
    await reader.read();
    const pending = reader.read();
    await reader.cancel();
    await expect(pending).resolves.toEqual({ value: undefined, done: true });
  });

  it('generates without streaming, too', async () => {
    const result = await generateText({ model: createEchoModel(), prompt: 'hi\n/call count', tools });
    expect(result.text).toBe('You said: hi');
    expect(result.toolCalls).toMatchObject([{ toolName: 'count', input: {} }]);
    await expect(generateText({ model: createEchoModel(), prompt: '/fail no steam' })).rejects.toThrow('no steam');
  });
});

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const parts: T[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function ask(text: string): LanguageModelV4Prompt {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}
