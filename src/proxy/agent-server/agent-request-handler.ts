import { Injectable } from '@nestjs/common';
import { requireActive } from '../../connections/connection.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import { type InboundMessage, isModernMessage, traceContextOf } from '../protocol/inbound-message.js';
import { isAnswerable } from '../translation/modern-envelope.js';
import { ClientUpstreamSessions } from './client-upstream-sessions/client-upstream-sessions.js';
import { AgentAnswers } from './agent-answers.js';
import { AgentSessionHandler } from './agent-session-handler.js';
import { AgentOwnTools } from './agent-own-tools.js';
import { AgentSourceRequests } from './agent-source-requests.js';

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
      incoming: traceContextOf(request.headers),
    });
    onceClosed(reply, () => measured.end({ status: reply.raw.statusCode < 400 ? 'success' : 'error' }));
  }
}
