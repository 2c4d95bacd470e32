import type { CallDeadline } from '../contract/call-deadline.js';
import type { StateOwner } from '../contract/callers.js';
import type { ChangeListener, Listening, OnListChanged } from '../contract/list-change.js';
import type { ListenOptions } from '../contract/upstream.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import { listenToResources, LISTEN_HEADERS } from '../notifications/resource-listener.js';
import { SessionListener, UpstreamListener } from '../notifications/upstream-listener.js';
import { McpSession } from '../session/mcp-session.js';
import { SessionUpstream } from '../session/session-upstream.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { addressLabel } from '../contract/upstream-error.js';
import type { HttpTarget } from '../contract/upstream-target.js';
import { holdsCredential } from './upstream-fetch.js';
import { UpstreamTransport } from './upstream-transport.js';
import { HttpChannel } from './http-channel.js';

/** A session, and the channel that sends bytes in it. */
export interface LentSession {
  readonly session: McpSession;
  readonly channel: HttpChannel;
}

/** The MCP client of one HTTP target (streamable HTTP, both eras). */
export class HttpUpstream extends SessionUpstream {
  private current: LentSession | undefined;
  private readonly listener: UpstreamListener | undefined;
  /** The session in which unsolicited messages are listened for, unless `listener` does so. */
  private listening:
    { readonly session: McpSession; readonly stop: AbortController; readonly by: SessionListener } | undefined;

  /**
   * @param onChanged called when a list changes
   * @param owner whose state it holds; absent for a client that callers share, which also listens for changes
   */
  constructor(
    readonly target: HttpTarget,
    private readonly sockets: UpstreamSockets,
    private readonly onChanged?: OnListChanged,
    private readonly owner?: StateOwner,
  ) {
    super(addressLabel(target.url), target.timeoutMs);
    const listens = onChanged !== undefined && owner === undefined;
    this.listener = listens ? new UpstreamListener(onChanged, (session) => this.forget(session)) : undefined;
  }

  /** Over HTTP, an upstream knows a session by the id that it has given it. */
  override get isStateless(): boolean | undefined {
    return this.openSession?.isStateless;
  }

  /** The session, for messages that are sent in it as bytes. Call `forget` if the session proves to be lost. */
  async lend(options: Pick<ExchangeOptions, 'signal'>): Promise<LentSession> {
    const { openSession } = this;
    if (openSession !== undefined) return this.asLent(openSession);
    return this.perform(options.signal, this.maxTimeoutMs, async (session) => this.asLent(session));
  }

  override forget(session: McpSession): void {
    super.forget(session);
    this.listener?.leave(session);
    session.changes.end();
    if (this.listening?.session === session) this.listening.stop.abort();
  }

  protected override receivesChanges(session: McpSession, caller: string): Promise<boolean> {
    const received = this.listener?.receives(session);
    if (received !== undefined) return received;
    return session.isModern ? Promise.resolve(false) : this.listenIn(session, caller).receives();
  }

  protected override listenToResources(
    session: McpSession,
    uris: readonly string[],
    listener: ChangeListener,
    options: Required<ListenOptions>,
  ): Promise<Listening> {
    const channel = this.channelOf(session);
    const send = (message: OutgoingMessage, exchange: ExchangeOptions): Promise<UpstreamAnswer> =>
      channel.postMessage(message, { ...exchange, headers: LISTEN_HEADERS });
    return listenToResources(session, uris, listener, { ...options, send, lifetime: this.lifetime.signal });
  }

  protected override get hasCredential(): boolean {
    return holdsCredential(this.target);
  }

  protected async open(signal: AbortSignal): Promise<McpSession> {
    const transport = new UpstreamTransport(this.target, this.sockets);
    const session = await McpSession.open(transport, signal, undefined, this.onChanged, this.owner);
    const channel = this.channelOf(session);
    this.listener?.follow(session, channel, signal);
    if (this.owner?.capabilities !== undefined && !session.isModern) {
      await this.listenIn(session, this.owner.callerId)
        .receives()
        .catch(() => undefined);
    }
    return session;
  }

  protected override inTurn<T>(caller: string, { signal }: CallDeadline, work: () => Promise<T>): Promise<T> {
    return this.sockets.withSocket(this.target, caller, signal, work);
  }

  private listenIn(session: McpSession, caller: string | undefined): SessionListener {
    if (this.listening?.session === session) return this.listening.by;
    const stop = new AbortController();
    const channel = this.channelOf(session);
    const onLost = (): void => this.forget(session);
    const signal = AbortSignal.any([this.lifetime.signal, stop.signal]);
    const by = new SessionListener({ channel, session, caller, onLost }, signal);
    this.listening = { session, stop, by };
    return by;
  }

  private asLent(session: McpSession): LentSession {
    if (this.current?.session !== session) {
      this.current = { session, channel: this.channelOf(session) };
    }
    return this.current;
  }

  private channelOf(session: McpSession): HttpChannel {
    return new HttpChannel(this.target, this.sockets, session.channelSession, !session.isModern);
  }
}
