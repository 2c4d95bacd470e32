import { Injectable } from '@nestjs/common';
import { requireActive } from '../../connections/connection.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { incomingTrace } from '../../platform/telemetry/trace-context.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import { type InboundMessage, isModernMessage, type InboundRequest } from '../protocol/inbound-message.js';
import { isAnswerable } from '../translation/modern-envelope.js';
import { ClientUpstreamSessions } from './client-upstream-sessions/client-upstream-sessions.js';
import { AgentAnswers } from './agent-answers.js';
import { AgentOwnTools } from './agent-own-tools.js';
import { AgentSourceRequests } from './agent-source-requests.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import type { Session } from '../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../forwarding/session/session-streams.js';
import { isOfSession, requiredLevel, requiredUri } from '../protocol/protocol-eras.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { SessionSubscriptions } from '../translation/subscriptions/session-subscriptions.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { ClientSessionHandler } from './client-upstream-sessions/client-session-handler.js';
import { AgentSubscriptions } from './offering/agent-subscriptions.js';
import { AgentToolRouter } from './offering/agent-tool-router.js';

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

/**
 * Handles one POST to an agent. A tool call is forwarded to the tool's upstream as the bytes that were received, with
 * the upstream's tool name. This service answers almost everything else itself.
 */
@Injectable()
export class AgentRequestHandler {
  constructor(
    private readonly sources: AgentSourceRequests,
    private readonly clientSessions: ClientUpstreamSessions,
    private readonly sessions: AgentSessionHandler,
    private readonly answers: AgentAnswers,
    private readonly ownTools: AgentOwnTools,
    private readonly telemetry: ProxyTelemetry,
  ) {}

  /** @throws DomainError */
  async handleAgentRequest(context: McpRequestContext<InboundMessage, PooledRoute>): Promise<void> {
    const { request, caller, message } = context;
    const { session } = context.route;
    const isModern = isModernMessage(request.headers, message);
    const owner = session && this.clientSessions.ownerOf(caller, session);
    if (message.kind === 'request' && message.method === 'tools/call') {
      if (await this.ownTools.answerCall(context, owner)) return;
      if (isModern) await this.sources.callTool(context);
      else await this.sessions.callTool(context, owner);
      return;
    }
    requireActive(caller.connection);
    if (await this.ownTools.answerTask(context)) return;
    if (isModern && (await this.sources.forwardToSource(context))) return;
    if (owner !== undefined && (await this.sources.forwardAskable(context))) return;
    this.measure(context);
    if (message.kind === 'request' && message.method === 'tools/list') {
      // The MCP server of this service describes what is wrong with any other request.
      if (!isModern || isAnswerable(request.headers, message)) {
        await this.answers.listTools({ ...context, message }, owner);
        return;
      }
    }
    if (await this.sessions.handleMessage(context, owner)) return;
    await this.answers.answer(context, owner);
  }

  /** Measures the request under the agent's id. `ToolInvoker` measures tool calls under the connection's id. */
  private measure({ request, reply, caller, message }: McpRequestContext): void {
    if (message.kind !== 'request') return;
    const measured = this.telemetry.beginRequest({
      connectionId: caller.connection.id,
      method: message.method,
      requestId: request.id,
      incoming: incomingTrace(request.headers),
    });
    onceClosed(reply, () => measured.end({ status: reply.raw.statusCode < 400 ? 'success' : 'error' }));
  }
}

type SessionMessage<M extends InboundMessage = InboundMessage> = McpRequestContext<M, PooledRoute>;
