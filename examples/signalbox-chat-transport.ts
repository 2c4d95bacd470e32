import { DefaultChatTransport, type UIMessage } from 'ai';

/** Where Signalbox is, and the agent that answers. The key is a secret: keep it on a server of yours. */
export interface SignalboxChat {
  baseUrl: string;
  org: string;
  apiKey: string;
  agentId: string;
}

/**
 * Lets `useChat` (or any other chat of the AI SDK) talk to an agent of Signalbox: the chat's id is the thread's id.
 *
 *     useChat({ id: threadId, transport: new SignalboxChatTransport({ baseUrl, org, apiKey, agentId }), resume: true })
 *
 * A message goes to `POST …/messages`, which answers 202; the answer itself comes on `GET …/stream`. The service keeps
 * the conversation, so only the last message is sent. `stop()` ends the reading, not the run: that is `POST …/cancel`.
 * A stream on a busy thread begins with the run that is under way. Where several clients write to one thread, open
 * `…/stream?taskId=` with the `taskId` of the 202 instead; it replays a run that has begun.
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
      // 204 when nothing runs or waits: there is nothing to resume.
      prepareReconnectToStreamRequest: ({ api, id }) => ({ api: `${api}/${id}/stream?idle=204` }),
      fetch: (url, init) => (init?.method === 'POST' ? postAndStream(String(url), init) : fetch(url, init)),
    });
  }
}

/** Opens the stream, then posts, so that the answer's first words are not missed. */
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

/** The service is strict: a message is its id, its role and its text. */
function textOnly({ id, role, parts }: UIMessage): object {
  return {
    id,
    role,
    parts: parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])),
  };
}
