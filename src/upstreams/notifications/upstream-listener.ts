import { answerRequest, type UpstreamAnswer, type UpstreamChannel } from '../messages/upstream-channel.js';
import { type ListedKind, type OnListChanged, subscriptionTo } from '../contract/list-change.js';
import type { McpSession } from '../session/mcp-session.js';
import { UpstreamError } from '../contract/upstream-error.js';
import {
  followNotifications,
  isNotificationStream,
  type NotificationSource,
  STABLE_MS,
} from './notification-stream.js';
import { LISTEN_HEADERS, subscriptionMessage } from './resource-listener.js';
import type { UpstreamRequest } from '../contract/upstream-request.js';
import { withTimeout } from '../../core/with-timeout.js';

/** After this many sessions in a row that were lost soon after opening, the service stops listening. */
const MAX_QUICK_LOSSES = 3;

interface Following {
  readonly session: McpSession;
  readonly stop: AbortController;
  readonly opening: StreamOpening;
  isOver: boolean;
}

/**
 * Receives an HTTP upstream's list changes, in one session at a time: from the stream of unsolicited messages in the
 * legacy era (GET; MCP 2025-11-25, transports), by `subscriptions/listen` in the modern one (MCP 2026-07-28). It opens
 * a stream only if the upstream declares `listChanged`. A failed stream loses only change notifications.
 */
export class UpstreamListener {
  private following: Following | undefined;
  private quickLosses = 0;
  /** An earlier session ended, and changes since then have not been reported. */
  private mayHaveMissed = false;

  /** @param onLost called when the upstream no longer knows the session */
  constructor(
    private readonly onChanged: OnListChanged,
    private readonly onLost: (session: McpSession) => void,
  ) {}

  /** Listens in this session instead of the previous one. @param lifetime stops listening when aborted */
  follow(session: McpSession, channel: UpstreamChannel, lifetime: AbortSignal): void {
    if (this.following !== undefined) this.leave(this.following.session);
    if (this.mayHaveMissed) this.reportAll(session.announcedLists);
    const shouldListen = session.announcedLists.length > 0 && this.quickLosses < MAX_QUICK_LOSSES && !lifetime.aborted;
    if (!shouldListen) return;
    const stop = new AbortController();
    const opening = new StreamOpening(() => session.changes.missed());
    this.following = { session, stop, opening, isOver: false };
    void this.listen(this.following, channel, AbortSignal.any([lifetime, stop.signal]));
  }

  /** See `StreamOpening.isOpen`. Undefined if it neither has a stream in this session nor opens one. */
  receives(session: McpSession): Promise<boolean> | undefined {
    const { following } = this;
    return following?.session === session && !following.isOver ? following.opening.isOpen() : undefined;
  }

  /** Stops listening in this session. */
  leave(session: McpSession): void {
    if (this.following?.session !== session) return;
    this.following.stop.abort();
    this.following = undefined;
    this.mayHaveMissed = true;
  }

  private async listen(following: Following, channel: UpstreamChannel, signal: AbortSignal): Promise<void> {
    const { session, opening } = following;
    const { onChanged } = this;
    const kinds = session.announcedLists;
    const startedAt = performance.now();
    const pong = pongThrough(channel);
    const open = async (): Promise<UpstreamAnswer> => {
      const answer = await (session.isModern
        ? channel.postMessage(subscriptionMessage(session, subscriptionTo(kinds)), { signal, headers: LISTEN_HEADERS })
        : channel.listen({ signal }));
      // In the modern era, the upstream acknowledges a subscription when it is in force.
      if (!session.isModern || !isNotificationStream(answer)) opening.settle(isNotificationStream(answer));
      return answer;
    };
    const { changes } = session;
    const changed = (kind: ListedKind): void => {
      onChanged(kind);
      changes.listChanged(kind);
    };
    const updated = (uri: string): void => changes.resourceUpdated(uri);
    const reopened = (): void => changes.missed();
    const acknowledged = (): void => opening.settle(true);
    const source: NotificationSource = { open, changed, updated, reopened, acknowledged, asked: pong };
    const end = await followNotifications(source, kinds, signal);
    opening.settle(false);
    if (end !== 'lost') {
      following.isOver = true;
      if (!signal.aborted) changes.end(streamEnded());
      return;
    }
    this.quickLosses = performance.now() - startedAt >= STABLE_MS ? 0 : this.quickLosses + 1;
    this.onLost(session);
    // A restarted upstream can have other lists. Reading them opens the next session.
    this.reportAll(kinds);
  }

  private reportAll(kinds: readonly ListedKind[]): void {
    this.mayHaveMissed = false;
    kinds.forEach((kind) => this.onChanged(kind));
  }
}

/** Answers one ping at a time. Some servers end the session of a client that does not answer. */
function pongThrough(channel: UpstreamChannel): NotificationSource['asked'] {
  let isPending = false;
  return (id, { method }) => {
    if (isPending || method !== 'ping') return;
    isPending = true;
    void answerRequest(channel, id, Promise.resolve({})).finally(() => (isPending = false));
  };
}

/** How long the stream is waited for: a server drops messages that it cannot send. */
const OPENING_MS = 1_000;

/** Whether a stream of notifications is open, for those who need it. */
export class StreamOpening {
  private readonly first = Promise.withResolvers<boolean>();
  private state = this.first.promise;
  /** True if somebody did not wait until the stream was open. */
  private isLate = false;

  /** @param missed called when the stream opens later than somebody waited: changes may have been missed until then */
  constructor(private readonly missed: () => void) {
    this.first.promise.catch(() => undefined);
  }

  /**
   * Resolves with false if the upstream does not offer the stream, otherwise once it is open, or after a second.
   * @throws what `fail` was called with
   */
  isOpen(): Promise<boolean> {
    return withTimeout(this.state, OPENING_MS, (): true => (this.isLate = true), { ref: false });
  }

  /** @param isOpen false if the upstream refuses the stream */
  settle(isOpen: boolean): void {
    this.first.resolve(isOpen);
    this.state = Promise.resolve(isOpen);
    if (this.isLate && isOpen) this.missed();
    this.isLate = false;
  }

  /** The first attempt has failed, and another one may follow. */
  fail(error: Error): void {
    this.first.reject(error);
  }
}

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
    else if (!signal.aborted) changes.end(streamEnded());
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

function streamEnded(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream has ended its stream of notifications.');
}
