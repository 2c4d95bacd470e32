import { expect, it } from '@jest/globals';
import { AbstractChat, type ChatState, type ChatTransport, type UIMessage } from 'ai';
import { SignalboxChatTransport } from '../../examples/signalbox-chat-transport.js';
import { ThreadClient } from '../support/agent-runs.js';
import { until } from '../support/proxy-connections.js';
import { answer, useApprovalsApp } from './approvals.support.js';

const own = useApprovalsApp();

/** What `useChat` is without React: the AI SDK's own chat, with its state in memory. */
class MemoryChat extends AbstractChat<UIMessage> {
  constructor(id: string, transport: ChatTransport<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: [],
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
      snapshot: structuredClone,
    };
    super({ id, transport, state });
  }

  /** The parts of tool calls in the last message. */
  get calls() {
    return this.lastMessage?.parts.filter((part) => part.type === 'dynamic-tool') ?? [];
  }
}

it.each([true, false])(
  'a chat of the AI SDK shows the request and what came of the answer approved: %j',
  async (approved) => {
    const { app, agentId } = own;
    const thread = await ThreadClient.create(app, agentId);
    const transport = new SignalboxChatTransport({ baseUrl: app.url, org: app.org, apiKey: app.apiKey, agentId });
    const chat = new MemoryChat(thread.id, transport);
    const sending = chat.sendMessage({ text: '/call send {}' });
    await until('the chat asks', () => chat.calls[0]?.state === 'approval-requested');
    const id = chat.calls[0]?.approval?.id ?? '';
    // As a page does it: shown at once, and sent to the service.
    await chat.addToolApprovalResponse({ id, approved, reason: 'as you like' });
    await answer(app, thread.id, id, { approved, reason: 'as you like' }).expect(202);
    await sending;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.calls).toMatchObject([
      {
        state: approved ? 'output-available' : 'output-denied',
        approval: { id, approved, reason: 'as you like' },
      },
    ]);
    const stored = (await thread.messages()).at(-1);
    expect(chat.lastMessage).toMatchObject({ id: stored?.id, role: 'assistant', parts: stored?.parts });
  },
);
