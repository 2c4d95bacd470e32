import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../audit/audit-record.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { CallerResolver } from './caller-resolver.js';
import { AgentRequestHandler } from '../agent-server/agent-request-handler.js';
import { readMessage } from '../protocol/inbound-message.js';
import { checkHeaders, requireTakesStream } from '../protocol/mcp-headers.js';
import { requireGrant, requireMethod } from '../protocol/method-rules.js';
import { OriginPolicy } from './origin-policy.js';
import { CallsToCancel } from '../translation/calls-to-cancel.js';
import { ModernRequestTranslator } from '../translation/modern-request-translator.js';
import { OpeningRequests } from '../translation/opening-requests.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { headersFor, RequestForwarder } from '../forwarding/request-forwarder.js';
import type { Route } from '../forwarding/route.js';
import { UpstreamRouter } from '../forwarding/router.js';
import { deadlineOfReply } from '../forwarding/reply-deadline.js';
import { type Dispatch, isShared, UpstreamSender } from '../forwarding/upstream-sender.js';

const CANCELLED = 'notifications/cancelled';

/** One POST of the MCP transport: from the caller's bytes to the upstream and back. */
@Injectable()
export class McpRequestHandler {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly router: UpstreamRouter,
    private readonly requests: RequestForwarder,
    private readonly sender: UpstreamSender,
    private readonly gateway: AgentRequestHandler,
    private readonly openings: OpeningRequests,
    private readonly modern: ModernRequestTranslator,
    private readonly callsToCancel: CallsToCancel,
  ) {}

  /** @throws DomainError */
  async post(request: FastifyRequest, reply: FastifyReply, door: AuditDoor): Promise<void> {
    this.origins.check(request.headers);
    // First, so that whoever lacks a credential is told how to get one, whatever the body is.
    const resolved = this.callers.resolve(request);
    const caller = resolved instanceof Promise ? await resolved : resolved;
    const message = readMessage(request.body);
    checkHeaders(request.headers, message);
    requireTakesStream(request.headers, message);
    if (caller.connection.type === 'VIRTUAL') {
      await this.gateway.post(request, reply, door, { caller, message });
      return;
    }
    requireMethod(message, caller);
    const route = this.router.routeOf(request, message, caller);
    const scope = deadlineOfReply(reply, caller.connection.timeoutMs);
    const dispatch = { caller, route, message, scope };
    if (message.kind !== 'request') {
      await this.pass(request, reply, dispatch);
      return;
    }
    const sessionId = request.headers['mcp-session-id'];
    if (sessionId !== undefined && isShared(dispatch)) {
      this.callsToCancel.add(String(sessionId), message, scope, reply);
    }
    await this.wayOf(route).answer(request, reply, door, { ...dispatch, message });
  }

  /** Where a caller and an upstream of different eras may meet, there is a way of its own. */
  private wayOf({ kind }: Route): RequestForwarder | ModernRequestTranslator {
    if (kind === 'opening') return this.openings;
    return kind === 'stateless' ? this.modern : this.requests;
  }

  /** A notification, or an answer to a request of the upstream. A caller without a session sends it to nobody. */
  private async pass(request: FastifyRequest, reply: FastifyReply, dispatch: Omit<Dispatch, 'headers'>): Promise<void> {
    const { caller, route, message, scope } = dispatch;
    requireActive(caller.connection);
    const isForProgram = route.kind === 'stateless' && caller.connection.type === 'STDIO';
    const sharesUpstream = isShared(dispatch);
    // Nothing tells the upstream whose request is answered: it takes the answer of anybody.
    if (sharesUpstream && message.kind === 'answer') requireGrant(caller);
    // Nor whose is cancelled: there only this service knows which are the caller's own.
    if (route.kind === 'shared' || (sharesUpstream && message.method === CANCELLED)) {
      this.callsToCancel.tell(String(request.headers['mcp-session-id']), message);
    } else if (!isForProgram) {
      try {
        const { answer } = await this.sender.send({ ...dispatch, headers: headersFor(request, route) });
        discard(answer.body);
      } catch (error) {
        throw toProxyError(scope.explain(error));
      }
    }
    await reply.status(202).send();
  }
}
