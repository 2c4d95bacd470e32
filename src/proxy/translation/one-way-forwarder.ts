import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { requireActive } from '../../connections/connection.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import { type McpRequestContext, isShared, type Route } from '../forwarding/upstream-router.js';
import { OpenRequests } from '../forwarding/asked-clients/open-requests.js';
import { headersFor } from '../forwarding/request-forwarder.js';
import { UpstreamSender } from '../forwarding/upstream-sender.js';
import type { InboundMessage } from '../protocol/inbound-message.js';
import { requireGrant } from '../protocol/proxy-caller.js';
import { toProxyError } from '../protocol/to-proxy-error.js';

const CANCELLED = 'notifications/cancelled';

/**
 * Forwards notifications and answers of callers. A client of the legacy era cancels a request with a notification. This
 * service ends the exchange of the request then, and cancels it at the upstream in the way of the upstream's era. Only
 * an upstream with which the client has a session of its own gets the client's notification.
 */
@Injectable()
export class OneWayForwarder {
  /** Of the active requests in clients' sessions that this process handles. */
  private readonly active = new Map<string, AbortController>();

  constructor(
    private readonly upstream: UpstreamSender,
    private readonly requests: OpenRequests,
  ) {}

  /**
   * Makes a request cancellable until its reply is sent. Returns a signal that aborts when the client cancels it;
   * undefined outside of a session, where nothing tells the requests of several clients apart.
   */
  trackRequest(route: Route, message: InboundMessage, { raw }: FastifyReply): AbortSignal | undefined {
    const sessionKey = sessionKeyOf(route);
    // A closed reply emits no further `close`.
    if (message.kind !== 'request' || sessionKey === undefined || raw.destroyed) return undefined;
    const key = keyOf(sessionKey, JSON.parse(message.id));
    const cancelling = new AbortController();
    this.active.set(key, cancelling);
    raw.once('close', () => {
      // The caller may have reused the id in the meantime.
      if (this.active.get(key) === cancelling) this.active.delete(key);
    });
    return cancelling.signal;
  }

  /**
   * Cancels the request that a notification names; ignores any other message. Returns true if the request was active in
   * this process.
   */
  cancelRequest(route: Route, { method, params }: InboundMessage): boolean {
    const sessionKey = method === CANCELLED ? sessionKeyOf(route) : undefined;
    if (sessionKey === undefined) return false;
    const cancelling = this.active.get(keyOf(sessionKey, params['requestId']));
    cancelling?.abort();
    return cancelling !== undefined;
  }

  /**
   * Gives an answer of a client to the call of this service that waits for it; returns false for any other message.
   * @throws DomainError `invalid_rpc_request`, `conflict`
   */
  takeAnswer(route: Route, message: InboundMessage): boolean {
    const session = route.kind === 'pooled' ? route.session : undefined;
    return message.kind === 'answer' && session?.answers !== undefined && this.requests.takeAnswer(session, message);
  }

  /** Forwards a notification, or an answer to a request of the upstream. Drops it if the caller has no session. */
  async forwardOneWay(context: McpRequestContext): Promise<void> {
    const { request, reply, caller, route, message, deadline } = context;
    requireActive(caller.connection);
    if (this.takeAnswer(route, message)) {
      await reply.status(202).send();
      return;
    }
    // Only over HTTP can a message without a session have a receiver. In the modern era, clients send no answers, and
    // cancel a request by closing its response. An older upstream would attribute either message to another caller.
    const hasNoReceiver =
      route.kind === 'stateless' &&
      (caller.connection.type !== 'HTTP' || message.kind === 'answer' || message.method === CANCELLED);
    const sharesUpstream = isShared(context);
    // The upstream accepts the answer of any caller, because it cannot tell them apart.
    if (sharesUpstream && message.kind === 'answer') requireGrant(caller);
    const wasActive = this.cancelRequest(route, message);
    // Where callers share a session, the upstream cannot tell whose request is cancelled. A program has been told by
    // the end of the exchange.
    const isHandled = sharesUpstream ? message.method === CANCELLED : wasActive && caller.connection.type === 'STDIO';
    if (route.kind !== 'pooled' && !isHandled && !hasNoReceiver) {
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

function sessionKeyOf(route: Route): string | undefined {
  return route.kind === 'session' || route.kind === 'pooled' ? route.session?.key : undefined;
}

function keyOf(sessionKey: string, requestId: unknown): string {
  return `${sessionKey} ${JSON.stringify(requestId)}`;
}
