import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import type { UpstreamAnswer, UpstreamChannel } from '../messages/upstream-channel.js';
import { type ListedKind, type OnListChanged, subscriptionTo } from '../contract/list-change.js';
import { CLIENT_INFO, type McpSession } from '../session/mcp-session.js';
import { followNews, WORKED_MS } from './notification-stream.js';
import { discard } from '../messages/answer-body.js';

const LISTEN = 'subscriptions/listen';
const PONG_TIMEOUT_MS = 10_000;
/** An upstream that loses this many sessions in a row, each soon after it was opened, is no longer listened to. */
const MAX_QUICK_LOSSES = 3;

/**
 * Hears what an HTTP upstream says of its lists, in one session at a time: on the stream of unsolicited messages in the
 * legacy era (GET; MCP 2025-11-25, transports), by `subscriptions/listen` in the modern one (MCP 2026-07-28). It opens a
 * stream only if the upstream promises to use it. A stream that fails costs nothing but the news.
 */
export class UpstreamListener {
  private following: { readonly session: McpSession; readonly stop: AbortController } | undefined;
  private quickLosses = 0;
  /** A session was over before this one, and nobody has said what changed since. */
  private mayHaveMissed = false;

  /** @param onLost the upstream has forgotten this session */
  constructor(
    private readonly onChanged: OnListChanged,
    private readonly onLost: (session: McpSession) => void,
  ) {}

  /** Listens in this session instead of the one before. @param lifetime ends it */
  follow(session: McpSession, channel: UpstreamChannel, lifetime: AbortSignal): void {
    if (this.following !== undefined) this.leave(this.following.session);
    if (this.mayHaveMissed) this.tellAll(session.promisedLists);
    const isOfUse = session.promisedLists.length > 0 && this.quickLosses < MAX_QUICK_LOSSES && !lifetime.aborted;
    if (!isOfUse) return;
    const stop = new AbortController();
    this.following = { session, stop };
    void this.listen(session, channel, AbortSignal.any([lifetime, stop.signal]));
  }

  /** Listens no longer in this session, if it does. */
  leave(session: McpSession): void {
    if (this.following?.session !== session) return;
    this.following.stop.abort();
    this.following = undefined;
    this.mayHaveMissed = true;
  }

  private async listen(session: McpSession, channel: UpstreamChannel, signal: AbortSignal): Promise<void> {
    const { onChanged } = this;
    const kinds = session.promisedLists;
    const startedAt = performance.now();
    const pong = pongThrough(channel, signal);
    const open = (): Promise<UpstreamAnswer> =>
      session.isModern ? subscribe(session, channel, signal) : channel.listen({ signal });
    const end = await followNews({ open, changed: onChanged, pinged: pong }, kinds, signal);
    if (end !== 'lost') return;
    this.quickLosses = performance.now() - startedAt >= WORKED_MS ? 0 : this.quickLosses + 1;
    this.onLost(session);
    // An upstream that was started anew may list other things. Reading them opens the next session.
    this.tellAll(kinds);
  }

  private tellAll(kinds: readonly ListedKind[]): void {
    this.mayHaveMissed = false;
    kinds.forEach((kind) => this.onChanged(kind));
  }
}

/** There are no sessions in the modern era: the request says by itself who asks. */
function subscribe(session: McpSession, channel: UpstreamChannel, signal: AbortSignal): Promise<UpstreamAnswer> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: LISTEN,
    method: LISTEN,
    params: {
      _meta: {
        [PROTOCOL_VERSION_META_KEY]: session.protocolVersion,
        [CLIENT_INFO_META_KEY]: CLIENT_INFO,
        [CLIENT_CAPABILITIES_META_KEY]: {},
      },
      notifications: subscriptionTo(session.promisedLists),
    },
  });
  const message = { body: Buffer.from(body), method: LISTEN, id: JSON.stringify(LISTEN) };
  return channel.post(message, { signal, headers: { 'mcp-method': LISTEN } });
}

/** Answers one ping at a time: some servers end the session of a client that does not. */
function pongThrough(channel: UpstreamChannel, signal: AbortSignal): (id: string | number) => void {
  let isUnderWay = false;
  return (id) => {
    if (isUnderWay) return;
    isUnderWay = true;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    const limited = AbortSignal.any([signal, AbortSignal.timeout(PONG_TIMEOUT_MS)]);
    void channel
      .post({ body }, { signal: limited })
      .then(
        (answer) => discard(answer.body),
        () => undefined,
      )
      .finally(() => (isUnderWay = false));
  };
}
