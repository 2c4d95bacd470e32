import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentsService } from '../../agents/agents.service.js';
import { AgentComposition } from '../../agents/composition/agent-composition.service.js';
import { OFFER_KINDS, type OfferKind } from '../../agents/composition/composition.js';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { CallScope } from '../../upstreams/call-scope.js';
import { requireActive } from '../../upstreams/require-active.js';
import { RequestExchange } from '../exchange/request-exchange.service.js';
import { scopeOfReply } from '../exchange/scope-of-reply.js';
import { ToolCalls } from '../exchange/tool-calls.service.js';
import { HostedMcp } from '../hosted/hosted-mcp.js';
import type { InboundMessage, InboundRequest } from '../jsonrpc/inbound-message.js';
import { isModernRequest, modernVersionOf, traceContextOf } from '../mcp-headers.js';
import type { ProxyCaller } from '../proxy-caller.js';
import { SealedSessions } from '../session/sealed-sessions.service.js';
import { type AgentCall, AgentToolRouter, type RoutedCall } from './agent-tool-router.service.js';
import { type GatewayContext, GatewayServer } from './gateway-server.service.js';
import { GatewayStream } from './gateway-stream.service.js';
import { mayUse } from './gateway-permissions.js';
import { toolListText } from './gateway-tool-list.js';

/**
 * One POST to an agent. A tool call of the legacy era goes to the tool's upstream as the bytes that came, under the
 * upstream's own name; its list of tools is put together here; everything else is answered by an MCP server of our own.
 */
@Injectable()
export class GatewayExchange implements OnApplicationShutdown {
  private readonly hosted: HostedMcp<GatewayContext>;

  constructor(
    servers: GatewayServer,
    private readonly agents: AgentsService,
    private readonly compositions: AgentComposition,
    private readonly tools: AgentToolRouter,
    private readonly requests: RequestExchange,
    private readonly toolCalls: ToolCalls,
    private readonly sessions: SealedSessions,
    private readonly telemetry: ProxyTelemetry,
    private readonly stream: GatewayStream,
  ) {
    this.hosted = new HostedMcp((context) => servers.for(context));
  }

  /** @throws DomainError */
  async post(request: FastifyRequest, reply: FastifyReply, door: AuditDoor, asked: AgentCall): Promise<void> {
    const { caller, message } = asked;
    const isModern = isModernRequest(request.headers) || modernVersionOf(message) !== undefined;
    const sessionId = request.headers['mcp-session-id'];
    if (!isModern && sessionId !== undefined && message.method !== 'initialize') {
      this.sessions.open(String(sessionId), caller.connection, caller.principal);
    }
    const isCall = message.kind === 'request' && message.method === 'tools/call';
    if (isCall && !isModern) {
      await this.forward(request, reply, door, await this.tools.find(request, door, asked));
      return;
    }
    const call = isCall ? await this.judged(request, door, await this.tools.find(request, door, asked)) : undefined;
    requireActive(caller.connection);
    if (call === undefined) this.measure(request, reply, asked);
    if (message.kind === 'request' && message.method === 'tools/list' && !isModern) {
      await this.list(reply, caller, message);
      return;
    }
    const context = await this.contextOf(request, door, asked, call);
    if (!isModern && message.method === 'initialize') {
      const session = { hasOwnTools: false };
      reply.header('mcp-session-id', this.sessions.seal(session, caller.connection, caller.principal));
    }
    const parsed: unknown = JSON.parse(message.body.toString('utf8'));
    if (message.method === 'subscriptions/listen') await this.stream.subscribe(request, reply, parsed, context);
    else await this.hosted.answer(request, reply, parsed, context);
  }

  onApplicationShutdown(): Promise<void> {
    return this.hosted.close();
  }

  private async forward(
    request: FastifyRequest,
    reply: FastifyReply,
    door: AuditDoor,
    { caller, message }: RoutedCall,
  ): Promise<void> {
    const scope = scopeOfReply(reply, caller.connection.timeoutMs);
    await this.requests.answer(request, reply, door, { caller, message, scope, route: { kind: 'shared' } });
  }

  /** A call that is refused is answered with the HTTP status that says so, which the server behind could not set. */
  private async judged(request: FastifyRequest, door: AuditDoor, call: RoutedCall): Promise<RoutedCall> {
    if (call.caller.mayCallIt) return call;
    const scope = new CallScope(undefined, call.caller.connection.timeoutMs);
    try {
      await this.toolCalls.admit(request, door, { ...call, scope, route: { kind: 'shared' } });
    } finally {
      scope.end();
    }
    return call;
  }

  private async list(reply: FastifyReply, caller: ProxyCaller, { id, params }: InboundRequest): Promise<void> {
    // All tools are on the one page.
    if (params['cursor'] !== undefined) throw new DomainError('invalid_cursor');
    const composition = await this.compositions.of(caller.connection);
    const text = `{"jsonrpc":"2.0","id":${id},"result":${toolListText(caller, composition)}}`;
    await reply.status(200).header('content-type', 'application/json').send(text);
  }

  private async contextOf(
    request: FastifyRequest,
    door: AuditDoor,
    { caller, message }: AgentCall,
    call: RoutedCall | undefined,
  ): Promise<GatewayContext> {
    const context = { caller, door, call, trace: traceContextOf(request.headers) };
    if (!isOpening(message)) return { ...context, offers: new Set(OFFER_KINDS), instructions: undefined };
    const { id, organizationId } = caller.connection;
    const [agent, { sources }] = await Promise.all([
      this.agents.findForRun(organizationId, id),
      this.compositions.namesOf(caller.connection),
    ]);
    const offers = new Set<OfferKind>(
      OFFER_KINDS.filter((kind) => sources.some((source) => mayUse(caller, source, kind))),
    );
    return { ...context, offers, instructions: agent?.instructions ?? undefined };
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
    reply.raw.once('close', () => measured.end({ status: reply.raw.statusCode < 400 ? 'success' : 'error' }));
  }
}

/** Does the client ask what the server is? */
function isOpening({ method }: InboundMessage): boolean {
  return method === 'initialize' || method === 'server/discover';
}
