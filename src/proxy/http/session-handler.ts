import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requireActive } from '../../connections/connection.js';
import { DomainError } from '../../core/domain-error.js';
import { ClientSessionStreams } from '../agent-server/client-upstream-sessions/client-session-streams.js';
import { ClientUpstreamSessions } from '../agent-server/client-upstream-sessions/client-upstream-sessions.js';
import { ConnectionSessions, type SessionRequest } from '../forwarding/connection-sessions.js';
import { UpstreamRouter } from '../forwarding/upstream-router.js';
import { SessionNotifications } from '../translation/subscriptions/session-notifications.js';
import { CallerResolver } from './caller-resolver.js';

/** Handles GET and DELETE of the MCP transport, which concern a session as a whole. */
@Injectable()
export class SessionHandler {
  constructor(
    private readonly callers: CallerResolver,
    private readonly router: UpstreamRouter,
    private readonly connectionSessions: ConnectionSessions,
    private readonly notifications: SessionNotifications,
    private readonly agentSessions: ClientUpstreamSessions,
    private readonly agentStreams: ClientSessionStreams,
  ) {}

  /** Streams the unsolicited messages of the connection or the agent. @throws DomainError */
  async listenToSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = await this.openSession(request, reply);
    const { caller, session } = context;
    const isTranslated = session.isTranslated === true && session.isStandIn !== true;
    if (isTranslated) await this.notifications.listen(context);
    else if (caller.connection.type !== 'VIRTUAL') await this.connectionSessions.listen(context);
    else if (request.method === 'HEAD') await reply.type('text/event-stream').send();
    else await this.agentStreams.listenToAgent(request, reply, caller, session);
  }

  /** Ends the session. @throws DomainError */
  async endSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = await this.openSession(request, reply);
    const { caller, session } = context;
    this.notifications.endSession(session);
    if (caller.connection.type !== 'VIRTUAL') {
      await this.connectionSessions.end(context);
      return;
    }
    this.agentSessions.endSessions(session.key);
    this.connectionSessions.endOwned(caller, session);
    await reply.status(200).send();
  }

  private async openSession(request: FastifyRequest, reply: FastifyReply): Promise<SessionRequest> {
    const caller = await this.callers.resolveCaller(request);
    const session = this.router.sessionOf(request, caller);
    if (session === undefined) {
      const headers = { allow: 'POST' };
      const detail = 'This method needs a session. Send `initialize` with POST first.';
      throw new DomainError('method_not_allowed', detail, [], { headers });
    }
    requireActive(caller.connection);
    return { request, reply, caller, session };
  }
}
