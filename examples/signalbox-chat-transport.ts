import { DefaultChatTransport, type UIMessage } from 'ai';

/** The Signalbox service and the agent that answers. The API key is a secret: use this transport only on your server. */
export interface SignalboxChat {
  baseUrl: string;
  org: string;
  apiKey: string;
  agentId: string;
}

/**
 * Connects `useChat` (or another chat of the AI SDK) to an agent of Signalbox. The id of the chat is the id of the thread.
 *
 *     useChat({ id: threadId, transport: new SignalboxChatTransport({ baseUrl, org, apiKey, agentId }), resume: true })
 *
 * The post asks for `text/event-stream`, so its response is the stream of exactly this answer. The service stores the
 * conversation, so the transport sends only the last message. `stop()` stops reading, but not the run; to cancel the run, use
 * `POST …/cancel`.
 */
export class SignalboxChatTransport extends DefaultChatTransport<UIMessage> {
  constructor({ baseUrl, org, apiKey, agentId }: SignalboxChat) {
    super({
      api: `${baseUrl}/api/${org}/agent-runtime/threads`,
      headers: { authorization: `Bearer ${apiKey}`, accept: 'text/event-stream' },
      prepareSendMessagesRequest: ({ api, id, messages }) => ({
        api: `${api}/${id}/messages`,
        body: { messages: messages.slice(-1).map(textOnly), agent: { id: agentId } },
      }),
      // Returns 204 when no run is active or queued, so there is nothing to resume.
      prepareReconnectToStreamRequest: ({ api, id }) => ({ api: `${api}/${id}/stream?idle=204` }),
    });
  }
}

/** The service accepts only the id, the role, and the text of a message. */
function textOnly({ id, role, parts }: UIMessage): object {
  return {
    id,
    role,
    parts: parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])),
  };
}
