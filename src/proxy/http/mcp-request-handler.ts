import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntryPoint } from '../../audit/calls/audit-record.js';
import { AgentRequestHandler } from '../agent-server/agent-request-handler.js';
import { isRequest, type McpRequestContext, startRequest, UpstreamRouter } from '../forwarding/upstream-router.js';
import { SignInStates } from '../forwarding/session/request-states.js';
import { declaresApps } from '../protocol/client-capabilities.js';
import {
  type InboundRequest,
  readMessage,
  checkHeaders,
  requireTakesStream,
  sendNoAnswer,
} from '../protocol/inbound-message.js';
import { requireMethod } from '../protocol/proxy-caller.js';
import { LegacyRequestTranslator } from '../translation/legacy-request-translator.js';
import { ModernRequestTranslator } from '../translation/modern-request-translator.js';
import { OneWayForwarder } from '../translation/one-way-forwarder.js';
import { CallerResolver } from './caller-resolver.js';
import { requireActive } from '../../connections/connection.js';
import { DomainError } from '../../core/domain-error.js';
import { ClientSessionStreams } from '../agent-server/client-upstream-sessions/client-session-streams.js';
import { ClientUpstreamSessions } from '../agent-server/client-upstream-sessions/client-upstream-sessions.js';
import { ConnectionSessions, type SessionRequest } from '../forwarding/connection-sessions.js';
import { SessionNotifications } from '../translation/subscriptions/session-notifications.js';

/** Handles one POST of the MCP transport, for an agent or a connection. */
@Injectable()
export class McpRequestHandler {
  constructor(
    private readonly callers: CallerResolver,
    private readonly agents: AgentRequestHandler,
    private readonly router: UpstreamRouter,
    private readonly legacy: LegacyRequestTranslator,
    private readonly modern: ModernRequestTranslator,
    private readonly oneWay: OneWayForwarder,
    private readonly signIns: SignInStates,
  ) {}

  /** @throws DomainError */
  async handlePost(request: FastifyRequest, reply: FastifyReply, entryPoint: EntryPoint): Promise<void> {
    // First, so that a caller without a credential gets the challenge whatever the body is.
    const caller = await this.callers.resolveCaller(request);
    const received = readMessage(request.body);
    checkHeaders(request.headers, received);
    const isRepeated = received.params['requestState'] !== undefined;
    const message = isRepeated ? await this.signIns.resume(request, received) : received;
    requireTakesStream(request.headers, message);
    if (declaresApps(message)) request.hasApps = true;
    const { router } = this;
    const isAgent = caller.connection.type === 'VIRTUAL';
    if (!isAgent) requireMethod(message, caller);
    const route = isAgent ? router.agentRouteOf(request, message, caller) : router.routeOf(request, message, caller);
    const cancelled = this.oneWay.trackRequest(route, message, reply);
    const context = startRequest({ request, reply, entryPoint, caller, message, route, cancelled });
    try {
      if (isAgent) await this.forwardToAgent(context);
      else await (isRequest(context) ? this.forward(context) : this.oneWay.forwardOneWay(context));
    } catch (error) {
      if (cancelled?.aborted !== true || reply.sent) throw error;
      await sendNoAnswer(request, reply);
    }
  }

  private async forwardToAgent(context: McpRequestContext): Promise<void> {
    const { route, message } = context;
    if (route.kind !== 'pooled') throw new Error('The service opens the sessions of agents.');
    // The agent's server knows only the requests that it answers itself.
    this.oneWay.cancelRequest(route, message);
    if (this.oneWay.takeAnswer(route, message)) {
      await context.reply.status(202).send();
      return;
    }
    await this.agents.handleAgentRequest({ ...context, route });
  }

  private forward(context: McpRequestContext<InboundRequest>): Promise<void> {
    return context.route.kind === 'stateless'
      ? this.modern.forwardModernRequest(context)
      : this.legacy.forwardLegacyRequest(context);
  }
}

/** Handles GET and DELETE of the MCP transport, which concern a session as a whole. */
@Injectable()
export class McpSessionHandler {
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
