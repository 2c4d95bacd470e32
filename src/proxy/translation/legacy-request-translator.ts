import { Injectable } from '@nestjs/common';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import type { Session } from '../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../forwarding/session/session-streams.js';
import { type McpRequestContext, pooledRoute } from '../forwarding/upstream-router.js';
import { type MessageSender, ownAnswer, type Sent } from '../forwarding/upstream-sender.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import {
  isOfSession,
  refusedSubscription,
  requiredLevel,
  requiredUri,
  requireTranslatable,
} from '../protocol/protocol-eras.js';
import { InitializeNegotiator } from './initialize-negotiator.js';
import { sessionFeatures } from './session-features.js';
import { type FindPlace, SessionSubscriptions } from './subscriptions/session-subscriptions.js';
import { UpstreamEras } from './upstream-eras.js';

/**
 * Forwards one request of the legacy era. In a session that exists only in this service, the service does what an
 * upstream of that era would do in it: it keeps the log level and the subscriptions of the client.
 */
@Injectable()
export class LegacyRequestTranslator {
  constructor(
    private readonly requests: RequestForwarder,
    private readonly negotiator: InitializeNegotiator,
    private readonly eras: UpstreamEras,
    private readonly streams: SessionStreams,
    private readonly subscriptions: SessionSubscriptions,
  ) {}

  /** @throws DomainError */
  forwardLegacyRequest(context: McpRequestContext<InboundRequest>): Promise<void> {
    const { route, message } = context;
    // Only `initialize` is negotiated: afterwards, the session says which era the upstream speaks.
    if (route.kind === 'opening') return this.requests.forwardRequest(context, { sender: this.negotiator });
    const session = route.kind === 'pooled' ? route.session : undefined;
    if (session === undefined || !isOfSession(message)) return this.requests.forwardRequest(context);
    const sendMessage: MessageSender['sendMessage'] = () => this.answer(context, session);
    return this.requests.forwardRequest(context, { sender: { sendMessage } });
  }

  /** @throws DomainError `unknown_method`, `invalid_arguments`, `connection_unavailable`; UpstreamError */
  private async answer(context: McpRequestContext<InboundRequest>, session: Session): Promise<Sent> {
    const { caller, message, deadline } = context;
    const { logging, resources } = sessionFeatures(
      await this.eras.describeUpstream(caller.connection, deadline.signal),
      caller,
    );
    const isLevel = message.method === 'logging/setLevel';
    if (isLevel ? logging === undefined : resources?.subscribe !== true) requireTranslatable(message);
    if (isLevel) this.streams.setLevel(session, requiredLevel(message));
    else await this.subscribe(context, session);
    return { answer: ownAnswer(`{"jsonrpc":"2.0","id":${message.id},"result":{}}`), isStandIn: true };
  }

  private async subscribe(
    { caller, message, deadline }: McpRequestContext<InboundRequest>,
    session: Session,
  ): Promise<void> {
    const uri = requiredUri(message);
    if (message.method === 'resources/unsubscribe') {
      await this.subscriptions.unsubscribe(session, uri);
      return;
    }
    const find: FindPlace = async (current) => ({
      caller: current,
      owner: pooledRoute(current, {}, session).owner,
    });
    const resource = { connectionId: caller.connection.id, own: uri, address: uri, find };
    const isAccepted = await this.subscriptions.subscribe({ session, caller }, resource, deadline.signal);
    if (!isAccepted) throw refusedSubscription();
  }
}
