import { Injectable } from '@nestjs/common';
import type { WantedChanges } from '../../../upstreams/contract/change-listener.js';
import type { ServerDescription } from '../../../upstreams/contract/upstream.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import type { Sent } from '../../forwarding/upstream-sender.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { ChangeSubscriptions } from './change-subscriptions.js';
import { offeredChanges } from './subscription-filter.js';
import { SubscriptionStream } from './subscription-stream.js';

const NOTHING: WantedChanges = { kinds: [], uris: [] };

/**
 * Answers `subscriptions/listen` of clients of the modern era for upstreams of the legacy era, which report changes in
 * their sessions. A subscription is in the session in which the caller's calls are sent, so that it hears of what they
 * change there.
 */
@Injectable()
export class LegacySubscriptions {
  constructor(private readonly subscriptions: ChangeSubscriptions) {}

  /** @throws DomainError `invalid_arguments`, `connection_unavailable`; UpstreamError */
  async subscribe(
    { caller, message, route, deadline }: McpRequestContext<InboundRequest>,
    { capabilities, serverInfo }: ServerDescription,
  ): Promise<Sent> {
    const wanted = offeredChanges(message, capabilities, caller);
    const stream = new SubscriptionStream(message.id, serverInfo);
    if (isNothing(wanted)) return acknowledged(stream, NOTHING);
    // A relay that waits for the next event does not notice that its client has gone.
    deadline.onStop(() => stream.body.destroy());
    const owner = route.kind === 'pooled' ? route.owner : undefined;
    const uris = await this.subscriptions.open(stream, wanted, caller, { signal: deadline.signal, owner });
    return acknowledged(stream, uris === undefined ? NOTHING : { kinds: wanted.kinds, uris });
  }
}

function isNothing({ kinds, uris }: WantedChanges): boolean {
  return kinds.length === 0 && uris.length === 0;
}

function acknowledged(stream: SubscriptionStream, honored: WantedChanges): Sent {
  stream.acknowledge(honored);
  const answer = { status: 200, contentType: 'text/event-stream', headers: {}, body: stream.body };
  return { answer, isStandIn: true };
}
