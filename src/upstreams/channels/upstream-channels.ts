import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { UpstreamSockets } from '../sockets/upstream-sockets.js';
import type { SessionCaller, StateOwner } from '../contract/state-owner.js';
import { StdioSessions } from '../stdio/stdio-sessions.js';
import { UpstreamPool } from '../pool/upstream-pool.js';
import { UpstreamTargets } from '../pool/upstream-targets.js';
import { HttpChannel } from '../http/http-channel.js';
import { PooledChannel } from './pooled-channel.js';
import type { OutgoingMessage, UpstreamChannel } from '../messages/upstream-channel.js';

/** A caller's session with an upstream. */
export interface SessionAtUpstream {
  /** Unique; identifies the session in this process. */
  readonly key: string;
  /** The upstream's session id, if it assigned one. */
  readonly upstreamId?: string | undefined;
  /** Whose share a program counts towards; absent for a caller without a credential. */
  readonly caller?: SessionCaller | undefined;
  /** The request that opened the session, which is repeated to a restarted process. */
  readonly initialize?: OutgoingMessage | undefined;
}

/** Opens channels that send messages to an upstream as bytes, with the stored credentials. */
@Injectable()
export class UpstreamChannels {
  constructor(
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
    private readonly sockets: UpstreamSockets,
    private readonly stdio: StdioSessions,
  ) {}

  /**
   * In a session that this process opens by itself.
   * @param owner who has a session of its own with an upstream that has state; absent: the shared one is used
   * @throws DomainError `connection_unavailable`
   */
  pooled(connection: Connection, owner?: StateOwner): PooledChannel {
    return new PooledChannel(this.targets.targetFor(connection), this.pool, owner);
  }

  /** Ends the sessions that this process has opened for an owner, with their calls. */
  endOwned(ownerKey: string): void {
    this.pool.endOwned(ownerKey);
  }

  /**
   * For one session of a caller, to open it or to continue it.
   * @throws DomainError `connection_unavailable`, UpstreamError if a process cannot be started
   */
  async session(connection: Connection, session: SessionAtUpstream): Promise<UpstreamChannel> {
    const target = this.targets.targetFor(connection);
    if (target.kind === 'stdio') return this.stdio.channel(session, target);
    if (target.kind === 'custom')
      throw new Error('Only the service opens sessions with such an upstream (`hasOwnSessions`).');
    return new HttpChannel(target, this.sockets, { id: session.upstreamId });
  }
}
