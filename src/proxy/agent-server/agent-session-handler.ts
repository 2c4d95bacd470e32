import { Injectable } from '@nestjs/common';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import type { Session } from '../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../forwarding/session/session-streams.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import { isOfSession, requiredLevel, requiredUri } from '../protocol/protocol-eras.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { SessionSubscriptions } from '../translation/subscriptions/session-subscriptions.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { ClientSessionHandler } from './client-upstream-sessions/client-session-handler.js';
import { AgentSubscriptions } from './offering/agent-subscriptions.js';
import { AgentToolRouter } from './offering/agent-tool-router.js';

type SessionMessage<M extends InboundMessage = InboundMessage> = McpRequestContext<M, PooledRoute>;

/**
 * Handles what clients of the legacy era send in their sessions with an agent: in the sessions of their own that they
 * have with upstreams, and for all other connections in those of the service.
 */
@Injectable()
export class AgentSessionHandler {
  constructor(
    private readonly own: ClientSessionHandler,
    private readonly tools: AgentToolRouter,
    private readonly requests: RequestForwarder,
    private readonly streams: SessionStreams,
    private readonly sessions: SessionSubscriptions,
    private readonly subscriptions: AgentSubscriptions,
  ) {}

  /** @param owner of the session, if its client answers requests @throws DomainError */
  async callTool(context: SessionMessage, owner: SessionOwner | undefined): Promise<void> {
    if (owner !== undefined) await this.own.callTool({ ...context, owner });
    else await this.requests.forwardRequest(await this.tools.route(context));
  }

  /**
   * Handles a message that concerns the session; false for any other message.
   * @param owner of the session, if its client answers requests
   * @throws DomainError
   */
  async handleMessage(context: SessionMessage, owner: SessionOwner | undefined): Promise<boolean> {
    if (owner !== undefined && (await this.own.handleSessionMessage({ ...context, owner }))) return true;
    const { message, caller, route, reply, deadline } = context;
    const isKnown = message.kind === 'request' && isOfSession(message);
    if (!isKnown || route.session === undefined || caller.principal === undefined) return false;
    try {
      await this.changeSession({ ...context, message }, route.session);
    } catch (error) {
      throw toProxyError(deadline.explain(error));
    }
    await reply.status(200).type('application/json').send(`{"jsonrpc":"2.0","id":${message.id},"result":{}}`);
    return true;
  }

  private async changeSession(
    { caller, message, deadline }: SessionMessage<InboundRequest>,
    session: Session,
  ): Promise<void> {
    if (message.method === 'logging/setLevel') {
      this.streams.setLevel(session, requiredLevel(message));
      return;
    }
    const uri = requiredUri(message);
    if (message.method === 'resources/unsubscribe') await this.sessions.unsubscribe(session, uri);
    else await this.subscriptions.subscribe(caller, session, uri, deadline.signal);
  }
}
