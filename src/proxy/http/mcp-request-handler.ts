import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntryPoint } from '../../audit/calls/audit-record.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import { AgentRequestHandler } from '../agent-server/agent-request-handler.js';
import { type ForwardingContext, isRequest, isShared, startForwarding } from '../forwarding/forwarding-context.js';
import { headersFor, RequestForwarder } from '../forwarding/request-forwarder.js';
import { SignInStates } from '../forwarding/session/sign-in-states.js';
import { UpstreamRouter } from '../forwarding/upstream-router.js';
import { UpstreamSender } from '../forwarding/upstream-sender.js';
import { type InboundRequest, readMessage } from '../protocol/inbound-message.js';
import { checkHeaders, requireTakesStream } from '../protocol/mcp-headers.js';
import { requireGrant, requireMethod } from '../protocol/method-rules.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { CallsToCancel } from '../translation/calls-to-cancel.js';
import { InitializeNegotiator } from '../translation/initialize-negotiator.js';
import { ModernRequestTranslator } from '../translation/modern-request-translator.js';
import { CallerResolver } from './caller-resolver.js';
import { OriginPolicy } from './origin-policy.js';

const CANCELLED = 'notifications/cancelled';

/** Handles one POST of the MCP transport, for an agent or a connection. */
@Injectable()
export class McpRequestHandler {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly agents: AgentRequestHandler,
    private readonly router: UpstreamRouter,
    private readonly requests: RequestForwarder,
    private readonly upstream: UpstreamSender,
    private readonly negotiator: InitializeNegotiator,
    private readonly modern: ModernRequestTranslator,
    private readonly callsToCancel: CallsToCancel,
    private readonly signIns: SignInStates,
  ) {}

  /** @throws DomainError */
  async handlePost(request: FastifyRequest, reply: FastifyReply, entryPoint: EntryPoint): Promise<void> {
    this.origins.requireAllowedOrigin(request.headers);
    // First, so that a caller without a credential gets the challenge whatever the body is.
    const resolved = this.callers.resolveCaller(request);
    const caller = resolved instanceof Promise ? await resolved : resolved;
    const received = readMessage(request.body);
    checkHeaders(request.headers, received);
    const resumed = this.signIns.resume(request, received);
    const message = resumed instanceof Promise ? await resumed : resumed;
    requireTakesStream(request.headers, message);
    const context = { request, reply, entryPoint, caller, message };
    if (caller.connection.type === 'VIRTUAL') {
      await this.agents.handleAgentRequest(context);
      return;
    }
    requireMethod(message, caller);
    const forwarding = startForwarding(context, this.router.routeOf(request, message, caller));
    await (isRequest(forwarding) ? this.forward(forwarding) : this.forwardOneWay(forwarding));
  }

  private forward(context: ForwardingContext<InboundRequest>): Promise<void> {
    const { request, reply, message, route, deadline } = context;
    const sessionId = request.headers['mcp-session-id'];
    if (sessionId !== undefined && isShared(context)) {
      this.callsToCancel.trackRequest(String(sessionId), message, deadline, reply);
    }
    // Only in these two cases can the caller and the upstream be of different eras.
    if (route.kind === 'opening') return this.requests.forwardRequest(context, { sender: this.negotiator });
    return route.kind === 'stateless'
      ? this.modern.forwardModernRequest(context)
      : this.requests.forwardRequest(context);
  }

  /** Forwards a notification, or an answer to a request of the upstream. Drops it if the caller has no session. */
  private async forwardOneWay(context: ForwardingContext): Promise<void> {
    const { request, reply, caller, route, message, deadline } = context;
    requireActive(caller.connection);
    // Only over HTTP can a message without a session have a receiver.
    const hasNoReceiver = route.kind === 'stateless' && caller.connection.type !== 'HTTP';
    const sharesUpstream = isShared(context);
    // The upstream accepts the answer of any caller, because it cannot tell them apart.
    if (sharesUpstream && message.kind === 'answer') requireGrant(caller);
    // It cannot tell whose request is cancelled either: only this service knows which requests are the caller's.
    if (route.kind === 'pooled' || (sharesUpstream && message.method === CANCELLED)) {
      this.callsToCancel.cancelRequest(String(request.headers['mcp-session-id']), message);
    } else if (!hasNoReceiver) {
      try {
        const { answer } = await this.upstream.sendMessage(context, headersFor(request, route));
        discard(answer.body);
      } catch (error) {
        throw toProxyError(deadline.explain(error));
      }
    }
    await reply.status(202).send();
  }
}
