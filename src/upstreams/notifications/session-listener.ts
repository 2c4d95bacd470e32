import { UpstreamError } from '../contract/upstream-error.js';
import type { UpstreamRequest } from '../contract/upstream-request.js';
import { answerRequest } from '../messages/answer-request.js';
import type { UpstreamAnswer, UpstreamChannel } from '../messages/upstream-channel.js';
import type { McpSession } from '../session/mcp-session.js';
import { followNotifications, isNotificationStream } from './notification-stream.js';
import { StreamOpening } from './stream-opening.js';

/** How many requests are passed on at a time; further ones are refused. */
const MAX_ACTIVE = 16;

interface ListeningSession {
  readonly channel: UpstreamChannel;
  readonly session: Pick<McpSession, 'requests' | 'changes'>;
  /** Whose session it is: its socket counts among those of this caller. */
  readonly caller: string | undefined;
  /** Called when the upstream no longer knows the session. */
  readonly onLost: () => void;
}

/**
 * Receives what an HTTP upstream of the legacy era sends in a session on its stream of unsolicited messages: changes,
 * and the requests for which a server does not say to which call they belong.
 */
export class SessionListener {
  private active = 0;
  private readonly opening: StreamOpening;

  /** @param signal ends it */
  constructor(
    private readonly listening: ListeningSession,
    signal: AbortSignal,
  ) {
    this.opening = new StreamOpening(() => listening.session.changes.missed());
    void this.follow(signal);
  }

  /** See `StreamOpening.isOpen`. @throws UpstreamError `busy` while no socket is free for the stream */
  receives(): Promise<boolean> {
    return this.opening.isOpen();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const { session, onLost } = this.listening;
    const { changes } = session;
    const end = await followNotifications(
      {
        open: () => this.open(signal),
        changed: (kind) => changes.listChanged(kind),
        updated: (uri) => changes.resourceUpdated(uri),
        reopened: () => changes.missed(),
        asked: (id, request) => this.answer(id, request),
      },
      [],
      signal,
    );
    this.opening.settle(false);
    if (end === 'lost') onLost();
    else if (!signal.aborted)
      changes.end(new UpstreamError('protocol', 'The upstream has ended its stream of notifications.'));
  }

  private async open(signal: AbortSignal): Promise<UpstreamAnswer> {
    const { channel, caller } = this.listening;
    try {
      const answer = await channel.listen({ signal, ...(caller !== undefined && { caller }) });
      this.opening.settle(isNotificationStream(answer));
      return answer;
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'busy') this.opening.fail(error);
      throw error;
    }
  }

  private answer(id: string | number, request: UpstreamRequest): void {
    const { channel, session, caller } = this.listening;
    this.active++;
    const answering = this.active > MAX_ACTIVE ? undefined : answerTo(request, session);
    void answerRequest(channel, id, answering, caller).finally(() => this.active--);
  }
}

async function answerTo(request: UpstreamRequest, { requests }: ListeningSession['session']): Promise<object> {
  return request.method === 'ping' ? {} : requests.answer(request);
}
