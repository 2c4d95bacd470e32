import { describe, expect, it } from '@jest/globals';
import { connect, createAgent, LONG, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { HELD, toolPartsOf, useRunsApp } from './runs.support.js';
import { eventually } from '../../support/eventually.js';

const runsApp = useRunsApp();

describe('a run', () => {
  it('leaves the thread completed, and its transcript', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    expect(await thread.status()).toBe('completed');
    const stream = await thread.stream();
    const taskId = await thread.postMessage('Hello there', { tier: 'fast', temperature: 0.5 });

    const collected = await stream.collectUntilDone();
    const answer = await thread.expectWhole(taskId, collected);

    expect(await thread.status()).toBe('completed');
    expect(textOf(collected.chunks)).toBe('You said: Hello there');
    expect(collected.chunks.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(2);
    expect(collected.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    expect(answer.metadata).toEqual({
      taskId,
      model: 'builtin/echo',
      finishReason: 'stop',
      usage: { inputTokens: expect.any(Number), outputTokens: 4, totalTokens: expect.any(Number) },
    });
    expect(await thread.messages()).toMatchObject([
      { thread_id: thread.id, role: 'user', parts: [{ type: 'text', text: 'Hello there' }] },
      { id: answer.id, role: 'assistant' },
    ]);
    expect(await thread.run(taskId)).toMatchObject({
      id: taskId,
      thread_id: thread.id,
      agent_id: runsApp.agentId,
      status: 'completed',
      tier: 'fast',
      temperature: 0.5,
      model: 'builtin/echo',
      message_id: answer.id,
      error: null,
      usage: answer.metadata['usage'],
      finish_reason: 'stop',
      attempt: 1,
      steps: 1,
    });
  });

  it('calls the tools of a real upstream, one after the other', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId, ...collected } = await thread.ask(
      '/call echo {"message":"one"}\n/call get-sum {"a":20,"b":22}\nAnd that is all.',
    );
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toMatchObject([
      {
        toolName: 'echo',
        state: 'output-available',
        input: { message: 'one' },
        output: { content: [{ type: 'text', text: 'Echo: one' }] },
      },
      {
        toolName: 'get-sum',
        state: 'output-available',
        output: { content: [{ type: 'text', text: 'The sum of 20 and 22 is 42.' }] },
      },
    ]);
    expect(textOf(collected.chunks)).toContain('echo returned: Echo: one');
    expect(textOf(collected.chunks)).toContain('get-sum returned: The sum of 20 and 22 is 42.');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 3 });
  });

  it('continues after a failed tool, and after an unknown one', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId, ...collected } = await thread.ask('/call get-sum {"a":"x"}\n/call no-such-tool {}');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toMatchObject([
      { toolName: 'get-sum', state: 'output-error', errorText: expect.stringContaining('arguments.b is required') },
    ]);
    expect(textOf(collected.chunks)).toMatch(/get-sum failed: .*There is no tool "no-such-tool" to call\./s);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  });

  it("stops after its agent's maximum number of steps", async () => {
    const brief = await createAgent(runsApp.app, [await connect(runsApp.app, runsApp.upstream.url)], { max_steps: 2 });
    const thread = await ThreadClient.create(runsApp.app, brief);
    const call = '/call echo {"message":"again"}';
    const { taskId, ...collected } = await thread.ask([call, call, call].join('\n'));
    const { parts, metadata } = await thread.expectWhole(taskId, collected);
    expect(toolPartsOf(parts)).toHaveLength(2);
    expect(metadata['finishReason']).toBe('tool-calls');
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2, finish_reason: 'tool-calls' });
    const next = await thread.ask('Still there?');
    await thread.expectWhole(next.taskId, next);
    expect(textOf(next.chunks)).toBe('You said: Still there?');
  });

  it('stores system messages before the user message', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const { taskId, ...collected } = await thread.ask('Hi', { system: ['Be brief.', 'Be kind.'], messageId: 'mine_1' });
    await thread.expectWhole(taskId, collected);
    expect((await thread.messages()).map(({ role, parts }) => [role, parts[0]])).toMatchObject([
      ['system', { text: 'Be brief.' }],
      ['system', { text: 'Be kind.' }],
      ['user', { text: 'Hi' }],
      ['assistant', {}],
    ]);
    expect((await thread.messages())[2]?.id).toBe('mine_1');
  });

  it('keeps text that is hard to keep', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const text = 'Zoë 👩‍👩‍👧 日本語 \u2028 "quoted" \\u0000 \t\\';
    const { taskId, ...collected } = await thread.ask(text);
    await thread.expectWhole(taskId, collected);
    expect(await thread.messages()).toMatchObject([{ parts: [{ text }] }, {}]);
    expect(textOf(collected.chunks)).toBe(`You said: ${text}`);
  });

  it('shows its answer so far in the transcript, also while the model is silent', async () => {
    const thread = await ThreadClient.create(runsApp.app, runsApp.agentId);
    const taskId = await thread.postMessage(`So far\n${LONG}`);
    await eventually(async () => {
      const [, answer] = await thread.messages();
      expect(answer?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'You said: So far' }]);
    });
    expect(await thread.status()).toBe('in_progress');
    await thread.cancel(taskId);
    await thread.waitFor(taskId, 'cancelled');
  });

  it('of an agent that was deleted fails with a clear error', async () => {
    const doomed = await runsApp.createHoldingAgent();
    const thread = await ThreadClient.create(runsApp.app, doomed.agentId);
    const first = await thread.postMessage(HELD);
    const second = await thread.postMessage('Anybody?');
    await eventually(() => expect(doomed.calls()).toBe(1));
    await succeed(runsApp.app, 'COLLECTION_VIRTUAL_MCP_DELETE', { id: doomed.agentId });
    doomed.release();
    const collected = await thread.collect(second);
    await thread.expectWhole(second, collected);
    expect(collected.chunks.at(-1)).toMatchObject({ type: 'error', errorText: expect.stringContaining('agent') });
    expect(await thread.run(first)).toMatchObject({ status: 'completed' });
    expect(await thread.run(second)).toMatchObject({ status: 'failed', error: { code: 'agent_not_found' } });
    expect(await thread.status()).toBe('failed');
  });
});
