import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { UIMessage } from 'ai';
import { cancelRuns, loadMessages, type SignalboxChat } from '../../../examples/next-chat/lib/signalbox-chat.js';
import { createAgent, LONG, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { chatOf, memoryChat } from '../../support/memory-chat.js';
import { eventually } from '../../support/eventually.js';
import { untilChunk } from '../turns/steering.support.js';

describe('a chat of the AI SDK with the options of the example', () => {
  let app: Tenant;
  let agentId: string;
  let thread: ThreadClient;
  let chatHere: SignalboxChat;

  beforeAll(async () => {
    app = await newTenant();
    agentId = await createAgent(app);
    chatHere = chatOf(app, agentId);
  });

  beforeEach(async () => {
    thread = await ThreadClient.create(app, agentId);
  });

  afterAll(() => app.close());

  /** The durable transcript, as the chat would show it. */
  const transcript = async (): Promise<object[]> =>
    (await thread.messages()).map(({ id, role, parts }) => ({ id, role, parts }));

  const shown = ({ messages }: { messages: UIMessage[] }): object[] =>
    messages.map(({ id, role, parts }) => ({ id, role, parts }));

  it('shows what the transcript stores, turn after turn', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    await chat.sendMessage({ text: 'hello' });
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('You said: hello');
    await chat.sendMessage({ text: '/words 300' });
    expect(chat.messages).toHaveLength(4);
    expect(shown(chat)).toEqual(await transcript());
  });

  it('posts and streams with one request', async () => {
    const fetching = jest.spyOn(globalThis, 'fetch');
    await memoryChat({ id: thread.id, chat: chatHere }).sendMessage({ text: 'hello' });
    const requests = fetching.mock.calls.map(([url, init]) => `${init?.method} ${String(url).split('/').at(-1)}`);
    fetching.mockRestore();
    expect(requests).toEqual(['POST messages']);
  });

  it('resumes a run that is under way, from its start', async () => {
    const question: UIMessage = { id: unusedId(), role: 'user', parts: [{ type: 'text', text: 'as posted' }] };
    const taskId = await thread.postMessage(`/words 20\n${LONG}`, { messageId: question.id });
    await untilChunk(thread, taskId, 'text-delta');
    const chat = memoryChat({ id: thread.id, chat: chatHere, messages: [question] });
    const resuming = chat.resumeStream();
    await eventually(() => expect(JSON.stringify(chat.messages)).toContain('word20'));
    await thread.cancel(taskId).expect(202);
    await resuming;
    expect(chat.status).toBe('ready');
    expect(shown(chat).at(-1)).toEqual((await transcript()).at(-1));
  });

  it('regenerates its last answer, and an earlier one', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    await chat.sendMessage({ text: '/random 5' });
    await chat.sendMessage({ text: '/random 6' });
    const [, first, , second] = chat.messages;
    await chat.regenerate();
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.messages[3]?.id).not.toBe(second?.id);
    expect(shown(chat)).toEqual(await transcript());
    await chat.regenerate({ messageId: first?.id ?? '' });
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]?.id).not.toBe(first?.id);
    expect(shown(chat)).toEqual(await transcript());
  });

  it('begins with the stored messages', async () => {
    await thread.ask('earlier');
    const chat = memoryChat({ id: thread.id, chat: chatHere, messages: await loadMessages(chatHere, thread.id) });
    await chat.sendMessage({ text: 'later' });
    expect(chat.messages).toHaveLength(4);
    expect(shown(chat)).toEqual(await transcript());
  });

  it('stops reading, and cancels the run', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    const sending = chat.sendMessage({ text: '/words 2\n/wait 600000' });
    await eventually(() => expect(JSON.stringify(chat.messages)).toContain('word2'));
    await Promise.all([chat.stop(), cancelRuns(chatHere, thread.id)]);
    await sending;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    await eventually(async () => expect(await thread.status()).not.toBe('in_progress'));
  });

  it('has nothing to resume on an idle thread', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    await chat.resumeStream();
    expect(chat).toMatchObject({ status: 'ready', error: undefined, messages: [] });
  });

  it('shows the failure of a run, and what had arrived by then', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    await chat.sendMessage({ text: '/words 2\n/fail out of coal' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('out of coal');
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('word1 word2');
  });

  it('reports a message that is refused', async () => {
    const chat = memoryChat({ id: thread.id, chat: chatOf(app, unusedId()) });
    await chat.sendMessage({ text: 'hello' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('not_found');
  });
});
