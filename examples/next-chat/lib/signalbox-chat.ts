import type { HttpChatTransportInitOptions, UIMessage } from 'ai';

/** An agent of Signalbox, and a credential for it. */
export interface SignalboxChat {
  /** The service and the organization: `https://signalbox.example.com/api/<org>`. */
  api: string;
  agentId: string;
  /** A browser token of the thread; on a server, an API key. */
  token: () => Promise<string>;
}

/**
 * What `DefaultChatTransport` of the AI SDK needs to talk to an agent of Signalbox. The id of the chat is the id of the
 * thread.
 *
 *     useChat({ id: threadId, transport: new DefaultChatTransport(signalboxChat({ api, agentId, token })), resume: true })
 *
 * The service stores the conversation, so that a request carries only the last message. Versions 5 and 6 of `ai` ask
 * for `text/event-stream;ai=5` and `;ai=6`.
 */
export function signalboxChat({ api, agentId, token }: SignalboxChat): HttpChatTransportInitOptions<UIMessage> {
  return {
    headers: async () => ({ authorization: `Bearer ${await token()}`, accept: 'text/event-stream' }),
    prepareSendMessagesRequest: ({ id, messages, trigger }) => {
      const thread = threadUrl(api, id);
      const question = messages.findLast(({ role }) => role === 'user');
      if (trigger === 'regenerate-message') return { api: `${thread}/regenerate`, body: { messageId: question?.id } };
      return { api: `${thread}/messages`, body: { messages: [textOnly(question)], agent: { id: agentId } } };
    },
    // Answers 204 if no run is queued, running or waiting, so that there is nothing to resume.
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `${threadUrl(api, id)}/stream?idle=204` }),
  };
}

/** The messages of a thread, oldest first, for `useChat`. At most the last 100. */
export async function loadMessages({ api, token }: SignalboxChat, threadId: string): Promise<UIMessage[]> {
  const query = { thread_id: threadId, order: 'desc', limit: 100 };
  const { items } = (await post(`${api}/tools/COLLECTION_THREAD_MESSAGES_LIST`, token, query)) as {
    items: UIMessage[];
  };
  return items.toReversed();
}

/** Cancels the runs of a thread. `stop()` of a chat only stops reading. */
export async function cancelRuns({ api, token }: SignalboxChat, threadId: string): Promise<void> {
  await post(`${threadUrl(api, threadId)}/cancel`, token, {});
}

/** Approves or denies a tool call. The run goes on, and its stream with it. */
export async function answerApproval(
  { api, token }: SignalboxChat,
  threadId: string,
  approvalId: string,
  answer: { approved: boolean; reason?: string },
): Promise<void> {
  await post(`${threadUrl(api, threadId)}/approvals/${approvalId}`, token, answer);
}

function threadUrl(api: string, threadId: string): string {
  return `${api}/agent-runtime/threads/${encodeURIComponent(threadId)}`;
}

/** The service accepts the id, the role, and the text of a message. */
function textOnly(message: UIMessage | undefined): object | undefined {
  if (message === undefined) return undefined;
  const { id, role, parts } = message;
  return {
    id,
    role,
    parts: parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])),
  };
}

async function post(url: string, token: () => Promise<string>, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}
