import * as ai from 'ai';
import type { ChatState, UIMessage } from 'ai';
import { type SignalboxChat, signalboxChat } from '../../examples/next-chat/lib/signalbox-chat.js';
import type { Endpoint } from './agent-runs.js';

/** What an agent's chat needs, with the key of an application. */
export function chatOf({ url, org, apiKey }: Endpoint, agentId: string): SignalboxChat {
  return { api: `${url}/api/${org}`, agentId, token: async () => apiKey };
}

export interface MemoryChatOptions {
  id: string;
  chat: SignalboxChat;
  messages?: UIMessage[];
  /** The version of the AI SDK; by default the one that the service uses. */
  sdk?: Pick<typeof ai, 'AbstractChat' | 'DefaultChatTransport'>;
  /** What the chat asks for instead of `text/event-stream`. */
  accept?: string;
}

/** What `useChat` is without React: the AI SDK's own chat and transport, with its state in memory. */
export function memoryChat({ id, chat, messages = [], sdk = ai, accept }: MemoryChatOptions) {
  const state: ChatState<UIMessage> = {
    status: 'ready',
    error: undefined,
    messages,
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
    snapshot: structuredClone,
  };
  class MemoryChat extends sdk.AbstractChat<UIMessage> {
    /** The parts of tool calls in the last message. */
    get calls() {
      return this.lastMessage?.parts.filter((part) => part.type === 'dynamic-tool') ?? [];
    }
  }
  const options = signalboxChat(chat);
  const transport = new sdk.DefaultChatTransport<UIMessage>(
    accept === undefined
      ? options
      : { ...options, headers: async () => ({ authorization: `Bearer ${await chat.token()}`, accept }) },
  );
  return new MemoryChat({ id, transport, state });
}
