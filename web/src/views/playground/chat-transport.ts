import type { ChatTransport, UIMessageChunk } from 'ai';
import { SignalboxError } from '../../../../packages/client/src/signalbox-error.js';
import type { Pause } from '../../api/turns.js';
import type { Organization } from '../../session/organization.js';
import type { ChatMessage } from '../../transcript/message.js';
import { runChunks } from '../../transcript/run-chunks.js';
import type { RunOptions } from './run-options.js';
import { runRequestOf } from './run-request.js';

/** What a chat is with, and how its messages are answered. */
interface ChatTarget {
  readonly organization: Organization;
  readonly agentId: string;
  readonly options: RunOptions;
  /** Called with the run when the service has accepted a message, or is to answer one again. */
  readonly onAccepted: (taskId: string) => void;
  /** Called when the chat wants to read the run in progress, and there is none. */
  readonly onIdle: () => Promise<void>;
  /** Called when other streams are read instead of this one, and with undefined when it goes on. */
  readonly onPaused: (why: Pause | undefined) => void;
}

type Sending = Parameters<ChatTransport<ChatMessage>['sendMessages']>[0];
type Reconnecting = Parameters<ChatTransport<ChatMessage>['reconnectToStream']>[0];

/**
 * Connects `useChat` to a thread, whose id is that of the chat. A message carries an idempotency key, so that sending
 * it again after a lost connection runs nothing twice. Refused requests throw `SignalboxError`.
 */
export class ThreadTransport implements ChatTransport<ChatMessage> {
  readonly resumeStreamIsReplay = true;

  constructor(private readonly target: ChatTarget) {}

  async sendMessages({
    chatId,
    messages,
    trigger,
    messageId,
    headers,
    abortSignal,
  }: Sending): Promise<ReadableStream<UIMessageChunk>> {
    const isAgain = trigger === 'regenerate-message';
    const taskId = await (isAgain ? this.#regenerate(chatId, messageId, headers) : this.#post(chatId, messages.at(-1)));
    this.target.onAccepted(taskId);
    return this.#read(chatId, taskId, abortSignal);
  }

  async reconnectToStream({ chatId, abortSignal }: Reconnecting): Promise<ReadableStream<UIMessageChunk> | null> {
    // Only asks which run is in progress.
    const asking = new AbortController();
    const signal = abortSignal === undefined ? asking.signal : AbortSignal.any([asking.signal, abortSignal]);
    const taskId = (await this.target.organization.client.resume(chatId, { signal }))?.taskId;
    asking.abort();
    if (taskId !== undefined) return this.#read(chatId, taskId, abortSignal);
    await this.target.onIdle();
    return null;
  }

  #read(threadId: string, taskId: string, signal: AbortSignal | undefined): ReadableStream<UIMessageChunk> {
    const { organization, onPaused } = this.target;
    return runChunks(organization.client, { threadId, taskId }, { signal, onPaused });
  }

  async #post(threadId: string, message: ChatMessage | undefined): Promise<string> {
    if (message === undefined) throw new Error('There is no message to send.');
    const { organization, agentId, options } = this.target;
    // The service has the conversation, so only the new message is sent.
    const request = runRequestOf({ messageId: message.id, parts: message.parts, agentId, options });
    return (await organization.client.post(threadId, request, { idempotencyKey: message.id })).taskId;
  }

  async #regenerate(threadId: string, messageId: string | undefined, given: Sending['headers']): Promise<string> {
    const { url, slug, fetch } = this.target.organization;
    const headers = new Headers(given);
    headers.set('content-type', 'application/json');
    const response = await fetch(
      `${url}/api/${slug}/agent-runtime/threads/${encodeURIComponent(threadId)}/regenerate`,
      {
        method: 'POST',
        headers,
        body: JSON.stringify(messageId === undefined ? {} : { messageId }),
      },
    );
    if (!response.ok) throw await SignalboxError.of(response);
    return ((await response.json()) as { taskId: string }).taskId;
  }
}
