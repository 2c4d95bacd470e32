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
 * `POST …/messages` accepts a message with 202, and `GET …/stream` delivers the answer. The service stores the conversation,
 * so the transport sends only the last message. `stop()` stops reading, but not the run; to cancel the run, use
 * `POST …/cancel`. On a busy thread, the stream begins with the current run. If several clients write to one thread, open
 * `…/stream?taskId=` with the `taskId` of the 202 instead; it replays a run that has started.
 */
export class SignalboxChatTransport extends DefaultChatTransport<UIMessage> {
  constructor({ baseUrl, org, apiKey, agentId }: SignalboxChat) {
    super({
      api: `${baseUrl}/api/${org}/agent-runtime/threads`,
      headers: { authorization: `Bearer ${apiKey}` },
      prepareSendMessagesRequest: ({ api, id, messages }) => ({
        api: `${api}/${id}/messages`,
        body: { messages: messages.slice(-1).map(textOnly), agent: { id: agentId } },
      }),
      // Returns 204 when no run is active or queued, so there is nothing to resume.
      prepareReconnectToStreamRequest: ({ api, id }) => ({ api: `${api}/${id}/stream?idle=204` }),
      fetch: (url, init) => (init?.method === 'POST' ? postAndStream(String(url), init) : fetch(url, init)),
    });
  }
}

/** Opens the stream before it posts, so that the beginning of the answer is not missed. */
async function postAndStream(url: string, init: RequestInit): Promise<Response> {
  const { body: _, ...get } = { ...init, method: 'GET' };
  const stream = await fetch(url.replace(/messages$/, 'stream'), get);
  if (!stream.ok) return stream;
  const posted = await fetch(url, init).catch(async (error: unknown) => {
    await stream.body?.cancel();
    throw error;
  });
  if (posted.ok) return stream;
  await stream.body?.cancel();
  return posted;
}

/** The service accepts only the id, the role, and the text of a message. */
function textOnly({ id, role, parts }: UIMessage): object {
  return {
    id,
    role,
    parts: parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])),
  };
}
