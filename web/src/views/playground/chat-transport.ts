import { DefaultChatTransport } from 'ai';
import { SignalboxError } from '../../../../packages/client/src/signalbox-error.js';
import type { Organization } from '../../session/organization.js';
import { type ChatMessage, textOf } from '../../transcript/message.js';
import type { RunOptions } from './run-options.js';

/** What a chat is with, and how its messages are answered. */
export interface ChatTarget {
  readonly organization: Organization;
  readonly agentId: string;
  readonly options: RunOptions;
  /** Called when the chat wants to read the run in progress, and there is none. */
  readonly onIdle: () => void;
}

/**
 * Connects `useChat` to a thread, whose id is that of the chat. A message carries an idempotency key, so that sending it again after a
 * lost connection runs nothing twice. Refused requests throw `SignalboxError`.
 */
export class ChatTransport extends DefaultChatTransport<ChatMessage> {
  readonly #onIdle: () => void;

  constructor({ organization, agentId, options, onIdle }: ChatTarget) {
    const threads = `${organization.url}/api/${organization.slug}/agent-runtime/threads`;
    super({
      api: threads,
      headers: { accept: 'text/event-stream' },
      fetch: async (input, init) => {
        const response = await organization.fetch(input, init);
        if (!response.ok) throw await SignalboxError.of(response);
        return response;
      },
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId, headers }) => {
        const thread = `${threads}/${encodeURIComponent(id)}`;
        if (trigger === 'regenerate-message') {
          return { api: `${thread}/regenerate`, headers: headers ?? {}, body: messageId ? { messageId } : {} };
        }
        const message = messages.at(-1);
        if (message === undefined) throw new Error('There is no message to send.');
        return {
          api: `${thread}/messages`,
          headers: { ...(headers as Record<string, string>), 'idempotency-key': message.id },
          body: requestOf(message, agentId, options),
        };
      },
      // 204 if nothing runs.
      prepareReconnectToStreamRequest: ({ id, headers }) => ({
        api: `${threads}/${encodeURIComponent(id)}/stream?idle=204`,
        headers: headers ?? {},
      }),
    });
    this.#onIdle = onIdle;
  }

  override async reconnectToStream(
    options: Parameters<DefaultChatTransport<ChatMessage>['reconnectToStream']>[0],
  ): ReturnType<DefaultChatTransport<ChatMessage>['reconnectToStream']> {
    const stream = await super.reconnectToStream(options);
    if (stream === null) this.#onIdle();
    return stream;
  }
}

/** The service has the conversation, so only the new message is sent. */
function requestOf(message: ChatMessage, agentId: string, { tier, temperature }: RunOptions): object {
  return {
    messages: [{ id: message.id, role: 'user', parts: [{ type: 'text', text: textOf(message) }] }],
    agent: { id: agentId },
    ...(tier && { tier }),
    ...(temperature !== undefined && { temperature }),
  };
}
