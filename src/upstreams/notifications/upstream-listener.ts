import type { UpstreamAnswer, UpstreamChannel } from '../messages/upstream-channel.js';
import { type ListedKind, type OnListChanged, subscriptionTo } from '../contract/list-change.js';
import type { McpSession } from '../session/mcp-session.js';
import { UpstreamError } from '../contract/upstream-error.js';
import {
  followNotifications,
  isNotificationStream,
  type NotificationSource,
  STABLE_MS,
} from './notification-stream.js';
import { StreamOpening } from './stream-opening.js';
import { LISTEN_HEADERS, subscriptionMessage } from './subscription-message.js';
import { discard } from '../messages/answer-body.js';

const PONG_TIMEOUT_MS = 10_000;
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
    const pong = pongThrough(channel, signal);
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
      if (!signal.aborted)
        changes.end(new UpstreamError('protocol', 'The upstream has ended its stream of notifications.'));
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
function pongThrough(channel: UpstreamChannel, signal: AbortSignal): NotificationSource['asked'] {
  let isPending = false;
  return (id, { method }) => {
    if (isPending || method !== 'ping') return;
    isPending = true;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    const limited = AbortSignal.any([signal, AbortSignal.timeout(PONG_TIMEOUT_MS)]);
    void channel
      .postMessage({ body }, { signal: limited })
      .then(
        (answer) => discard(answer.body),
        () => undefined,
      )
      .finally(() => (isPending = false));
  };
}
