import type { Dispatcher } from 'undici';
import { HttpChannel } from './channel/http-channel.js';
import type { ExchangeOptions } from './channel/upstream-channel.js';
import { McpSession } from './mcp-session.js';
import { SessionUpstream } from './session-upstream.js';
import { addressLabel } from './to-upstream-error.js';
import type { HttpTarget } from './upstream-target.js';
import { UpstreamTransport } from './upstream-transport.js';

/** A session, and the way to send bytes in it. */
export interface LentSession {
  readonly session: McpSession;
  readonly channel: HttpChannel;
}

/** The MCP client of one HTTP target (streamable HTTP, both eras). */
export class HttpUpstream extends SessionUpstream {
  private lent: LentSession | undefined;

  constructor(
    readonly target: HttpTarget,
    private readonly dispatcher: Dispatcher,
  ) {
    super(addressLabel(target.url), target.timeoutMs);
  }

  /** The session, for messages that are sent in it as bytes. A borrower that finds it lost says so with `forget`. */
  async lend(options: Pick<ExchangeOptions, 'signal'>): Promise<LentSession> {
    const session =
      this.openSession ?? (await this.perform(options.signal, this.longestMs, (opened) => Promise.resolve(opened)));
    if (this.lent?.session !== session) {
      this.lent = { session, channel: new HttpChannel(this.target, this.dispatcher, session.channelSession) };
    }
    return this.lent;
  }

  protected open(signal: AbortSignal): Promise<McpSession> {
    return McpSession.open(new UpstreamTransport(this.target, this.dispatcher), signal);
  }
}
