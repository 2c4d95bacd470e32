import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AbstractChat, type ChatState, type UIMessage } from 'ai';
import { setTimeout as sleep } from 'node:timers/promises';
import { SignalboxChatTransport } from '../../examples/signalbox-chat-transport.js';
import { createAgent, ThreadClient, unusedId } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';

/** What `useChat` is without React: the AI SDK's own chat, with its state in memory. */
class MemoryChat extends AbstractChat<UIMessage> {
  constructor(id: string, transport: SignalboxChatTransport, messages: UIMessage[] = []) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
      snapshot: structuredClone,
    };
    super({ id, transport, state });
  }
}

describe('a chat of the AI SDK through SignalboxChatTransport', () => {
  let app: TestApp;
  let agentId: string;
  let thread: ThreadClient;
  let transport: SignalboxChatTransport;

  beforeAll(async () => {
    app = await startTestApp();
    agentId = await createAgent(app);
    transport = new SignalboxChatTransport({ baseUrl: app.url, org: app.org, apiKey: app.apiKey, agentId });
  });

  beforeEach(async () => {
    thread = await ThreadClient.create(app, agentId);
  });

  afterAll(() => app.close());

  /** The durable transcript, as the chat would show it. */
  const transcript = async (): Promise<object[]> =>
    (await thread.messages()).map(({ id, role, parts }) => ({ id, role, parts }));

  const shown = ({ messages }: MemoryChat): object[] => messages.map(({ id, role, parts }) => ({ id, role, parts }));

  it('shows what the transcript stores, turn after turn', async () => {
    const chat = new MemoryChat(thread.id, transport);
    await chat.sendMessage({ text: 'hello' });
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('You said: hello');
    await chat.sendMessage({ text: '/words 300' });
    expect(chat.messages).toHaveLength(4);
    expect(shown(chat)).toEqual(await transcript());
  });

  it('posts and streams with one request', async () => {
    const fetching = jest.spyOn(globalThis, 'fetch');
    await new MemoryChat(thread.id, transport).sendMessage({ text: 'hello' });
    const requests = fetching.mock.calls.map(([url, init]) => `${init?.method} ${String(url).split('/').at(-1)}`);
    fetching.mockRestore();
    expect(requests).toEqual(['POST messages']);
  });

  it('resumes a run that is under way, from its start', async () => {
    const question: UIMessage = { id: unusedId(), role: 'user', parts: [{ type: 'text', text: 'as posted' }] };
    await thread.postMessage('/words 20\n/wait 500\n/words 20', { messageId: question.id });
    await sleep(200);
    const chat = new MemoryChat(thread.id, transport, [question]);
    await chat.resumeStream();
    expect(chat.status).toBe('ready');
    expect(shown(chat).at(-1)).toEqual((await transcript()).at(-1));
  });

  it('has nothing to resume on an idle thread', async () => {
    const chat = new MemoryChat(thread.id, transport);
    await chat.resumeStream();
    expect(chat).toMatchObject({ status: 'ready', error: undefined, messages: [] });
  });

  it('shows the failure of a run, and what had arrived by then', async () => {
    const chat = new MemoryChat(thread.id, transport);
    await chat.sendMessage({ text: '/words 2\n/fail out of coal' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('out of coal');
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('word1 word2');
  });

  it('reports a message that is refused', async () => {
    const stranger = { baseUrl: app.url, org: app.org, apiKey: app.apiKey, agentId: unusedId() };
    const chat = new MemoryChat(thread.id, new SignalboxChatTransport(stranger));
    await chat.sendMessage({ text: 'hello' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('not_found');
  });
});
