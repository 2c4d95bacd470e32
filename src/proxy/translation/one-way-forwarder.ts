import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { requireActive } from '../../connections/connection.js';
import type { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import { type McpRequestContext, isShared } from '../forwarding/upstream-router.js';
import { headersFor } from '../forwarding/request-forwarder.js';
import { UpstreamSender } from '../forwarding/upstream-sender.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import { requireGrant } from '../protocol/proxy-caller.js';
import { toProxyError } from '../protocol/to-proxy-error.js';

const CANCELLED = 'notifications/cancelled';

/**
 * Forwards notifications and answers of callers. A client of the legacy era cancels a request with a notification.
 * Where the upstream does not know whose request is cancelled, or is of the modern era, this service ends the exchange
 * of the request instead.
 */
@Injectable()
export class OneWayForwarder {
  /** Of the active requests that only this process can cancel. */
  private readonly deadlines = new Map<string, CallDeadline>();

  constructor(private readonly upstream: UpstreamSender) {}

  /** Makes a request cancellable until its reply is sent. @param sessionId as the caller sent it */
  trackRequest(sessionId: string, { id }: InboundRequest, deadline: CallDeadline, { raw }: FastifyReply): void {
    // A closed reply emits no further `close`.
    if (raw.destroyed) return;
    const key = keyOf(sessionId, JSON.parse(id));
    this.deadlines.set(key, deadline);
    raw.once('close', () => {
      // The caller may have reused the id in the meantime.
      if (this.deadlines.get(key) === deadline) this.deadlines.delete(key);
    });
  }

  /** Forwards a notification, or an answer to a request of the upstream. Drops it if the caller has no session. */
  async forwardOneWay(context: McpRequestContext): Promise<void> {
    const { request, reply, caller, route, message, deadline } = context;
    requireActive(caller.connection);
    // Only over HTTP can a message without a session have a receiver.
    const hasNoReceiver = route.kind === 'stateless' && caller.connection.type !== 'HTTP';
    const sharesUpstream = isShared(context);
    // The upstream accepts the answer of any caller, because it cannot tell them apart.
    if (sharesUpstream && message.kind === 'answer') requireGrant(caller);
    // It cannot tell whose request is cancelled either: only this service knows which requests are the caller's.
    if (route.kind === 'pooled' || (sharesUpstream && message.method === CANCELLED)) {
      this.cancelRequest(String(request.headers['mcp-session-id']), message);
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

  private cancelRequest(sessionId: string, { method, params }: InboundMessage): void {
    if (method === CANCELLED) this.deadlines.get(keyOf(sessionId, params['requestId']))?.cancel();
  }
}

function keyOf(sessionId: string, requestId: unknown): string {
  return `${sessionId} ${JSON.stringify(requestId)}`;
}
