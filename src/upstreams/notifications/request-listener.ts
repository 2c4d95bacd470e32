import { withTimeout } from '../../core/with-timeout.js';
import type { UpstreamRequest } from '../contract/upstream-request.js';
import { answerRequest } from '../messages/answer-request.js';
import type { UpstreamAnswer, UpstreamChannel } from '../messages/upstream-channel.js';
import type { SessionRequests } from '../session/session-requests.js';
import { followNotifications } from './notification-stream.js';

/** How long the first call waits for the stream: a server drops requests that it cannot send. */
const OPENING_MS = 1_000;
/** How many requests are passed on at a time; further ones are refused. */
const MAX_ACTIVE = 16;

interface ListeningSession {
  readonly channel: UpstreamChannel;
  readonly requests: SessionRequests;
  /** Whose session it is: its socket counts among those of this caller. */
  readonly caller: string | undefined;
  /** Called when the upstream no longer knows the session. */
  readonly onLost: () => void;
}

/**
 * Receives the requests that an HTTP upstream of the legacy era sends on its stream of unsolicited messages instead of
 * the answer to a call, as servers do if they do not say to which call a request belongs. Resolves once the stream is open
 * or was refused. The signal ends it.
 */
export async function listenForRequests(session: ListeningSession, signal: AbortSignal): Promise<void> {
  const { channel, requests, caller, onLost } = session;
  const opened = Promise.withResolvers<void>();
  const open = (): Promise<UpstreamAnswer> =>
    channel.listen({ signal, ...(caller !== undefined && { caller }) }).finally(() => opened.resolve());
  let active = 0;
  const asked = (id: string | number, request: UpstreamRequest): void => {
    active++;
    const answering = active > MAX_ACTIVE ? undefined : answerTo(request, requests);
    void answerRequest(channel, id, answering, caller).finally(() => active--);
  };
  const follow = async (): Promise<void> => {
    const end = await followNotifications({ open, changed: () => undefined, asked }, [], signal);
    if (end === 'lost') onLost();
  };
  void follow();
  await withTimeout(opened.promise, OPENING_MS, () => undefined, { ref: false });
}

async function answerTo(request: UpstreamRequest, requests: SessionRequests): Promise<object> {
  return request.method === 'ping' ? {} : requests.answer(request);
}
