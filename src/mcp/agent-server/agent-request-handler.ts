import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentsService } from '../../agents/records/agents.service.js';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import { allowsNothing } from '../../common/permissions.js';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { onceClosed } from '../../http/once-closed.js';
import { deadlineOfReply } from '../forwarding/reply-deadline.js';
import { HostedMcp } from '../protocol/hosted-mcp.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import { isModernRequest, modernVersionOf, traceContextOf } from '../protocol/mcp-headers.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { SealedSessions } from '../forwarding/session/sealed-sessions.js';
import { type AgentCall, AgentToolRouter, type RoutedCall } from './offering/agent-tool-router.js';
import { type AgentRequestContext, AgentMcpServer } from './offering/agent-mcp-server.js';
import { AgentNotificationStream } from './offering/agent-notification-stream.js';
import { EVERYTHING, AgentCapabilities } from './offering/agent-capabilities.js';
import { ModernAgentRequests } from './modern-agent-requests.js';
import { toolListText } from './offering/agent-tool-list.js';
import { ClientSessionHandler } from './client-upstream-sessions/client-session-handler.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions/client-upstream-sessions.js';
import { ownInitialize } from './client-upstream-sessions/own-initialize.js';
import { SessionComposition } from './client-upstream-sessions/session-composition.js';
import { holdsAny } from './offering/agent-permissions.js';

/**
 * One POST to an agent. A tool call goes to the tool's upstream as the bytes that came, under the upstream's own name; the
 * legacy era's list of tools is put together here; almost everything else is answered by an MCP server of our own.
 */
@Injectable()
export class AgentRequestHandler implements OnApplicationShutdown {
  private readonly hosted: HostedMcp<AgentRequestContext>;

  constructor(
    servers: AgentMcpServer,
    private readonly agents: AgentsService,
    private readonly compositions: AgentComposition,
    private readonly tools: AgentToolRouter,
    private readonly requests: RequestForwarder,
    private readonly modern: ModernAgentRequests,
    private readonly sessions: SealedSessions,
    private readonly telemetry: ProxyTelemetry,
    private readonly stream: AgentNotificationStream,
    private readonly memberSessions: ClientUpstreamSessions,
    private readonly members: ClientSessionHandler,
    private readonly inSession: SessionComposition,
    private readonly promising: AgentCapabilities,
    private readonly writer: ReplyWriter,
  ) {
    this.hosted = new HostedMcp((context) => servers.for(context));
  }

  /** @throws DomainError */
  async post(request: FastifyRequest, reply: FastifyReply, door: AuditDoor, asked: AgentCall): Promise<void> {
    const { caller, message } = asked;
    const isModern = isModernRequest(request.headers) || modernVersionOf(message) !== undefined;
    const owner = isModern ? undefined : this.ownerOf(request, asked);
    const isCall = message.kind === 'request' && message.method === 'tools/call';
    if (isCall) {
      if (isModern) await this.modern.callTool(request, reply, door, asked);
      else if (owner !== undefined) await this.members.callTool({ request, reply, door, owner, message });
      else await this.forward(request, reply, door, await this.tools.find(request, door, asked));
      return;
    }
    requireActive(caller.connection);
    if (isModern && (await this.modern.ask(request, reply, door, asked))) return;
    this.measure(request, reply, asked);
    if (message.kind === 'request' && message.method === 'tools/list' && !isModern) {
      await this.list(request, reply, caller, message, owner);
      return;
    }
    if (owner !== undefined && (await this.members.handle({ request, reply, door, owner, message }))) return;
    const context = await this.contextOf(asked);
    if (!isModern && message.method === 'initialize') this.announceSession(reply, asked);
    const parsed: unknown = JSON.parse(message.body.toString('utf8'));
    if (message.method === 'subscriptions/listen') await this.stream.subscribe(request, reply, parsed, context);
    else await this.hosted.answer(request, reply, parsed, context);
  }

  onApplicationShutdown(): Promise<void> {
    return this.hosted.close();
  }

  private ownerOf({ headers }: FastifyRequest, { caller, message }: AgentCall): SessionOwner | undefined {
    const sessionId = headers['mcp-session-id'];
    if (sessionId === undefined || message.method === 'initialize') return undefined;
    const session = this.sessions.open(String(sessionId), caller.connection, caller.principal);
    return this.memberSessions.ownerOf(caller, session);
  }

  private announceSession(reply: FastifyReply, { caller, message }: AgentCall): void {
    const initialize = ownInitialize(message);
    const session = { hasOwnTools: false, ...(initialize !== undefined && { initialize }) };
    reply.header('mcp-session-id', this.sessions.seal(session, caller.connection, caller.principal));
  }

  private async forward(
    request: FastifyRequest,
    reply: FastifyReply,
    door: AuditDoor,
    { caller, message }: RoutedCall,
  ): Promise<void> {
    const scope = deadlineOfReply(reply, caller.connection.timeoutMs);
    await this.requests.answer(request, reply, door, { caller, message, scope, route: { kind: 'shared' } });
  }

  private async list(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: ProxyCaller,
    { id, params }: InboundRequest,
    owner: SessionOwner | undefined,
  ): Promise<void> {
    // All tools are on the one page.
    if (params['cursor'] !== undefined) throw new DomainError('invalid_cursor');
    const body = `{"jsonrpc":"2.0","id":${id},"result":${await this.listText(caller, owner)}}`;
    this.writer.write(request, reply, { status: 200, contentType: 'application/json', body }, {});
  }

  private async listText(caller: ProxyCaller, owner: SessionOwner | undefined): Promise<string> {
    const { principal, connection } = caller;
    const mayBePublic = connection.publicTools === 'honor';
    // Nothing of the agent can be on the list, whatever it consists of.
    if (!mayBePublic && principal !== undefined && allowsNothing(principal.permissions)) return '{"tools":[]}';
    return toolListText(caller, await (owner ? this.inSession.of(owner) : this.compositions.of(connection)));
  }

  private async contextOf({ caller, message }: AgentCall): Promise<AgentRequestContext> {
    if (!isOpening(message)) return { caller, promises: EVERYTHING, instructions: undefined };
    const { id, organizationId } = caller.connection;
    const reading = this.agents.findForRun(organizationId, id);
    const [agent, { sources }] = await Promise.all([
      reading,
      this.compositions.namesOf({ id, organizationId, reading }),
    ]);
    const isSession = message.method === 'initialize' && ownInitialize(message) !== undefined;
    const isAnswering = isSession && caller.principal !== undefined;
    const promises = await this.promising.for(caller, sources, isAnswering);
    // They may say more of the agent than its public tools do.
    const instructions = holdsAny(caller, sources) ? agent?.instructions : undefined;
    return { caller, promises, instructions: instructions ?? undefined };
  }

  /** A tool call is measured where it goes to, under the connection's id; everything else under the agent's. */
  private measure(request: FastifyRequest, reply: FastifyReply, { caller, message }: AgentCall): void {
    if (message.kind !== 'request') return;
    const measured = this.telemetry.begin({
      connectionId: caller.connection.id,
      toolName: '',
      toolLabel: '',
      method: message.method,
      requestId: request.id,
      streamable: false,
      incoming: traceContextOf(request.headers),
    });
    onceClosed(reply, () => measured.end({ status: reply.raw.statusCode < 400 ? 'success' : 'error' }));
  }
}

/** Does the client ask what the server is? */
function isOpening({ method }: InboundMessage): boolean {
  return method === 'initialize' || method === 'server/discover';
}
