import { Injectable } from '@nestjs/common';
import { OpenConnections } from '../../../connections/open-connections.js';
import { atMost, half, Shares } from '../../../core/sharing/shares.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { WantedChanges } from '../../../upstreams/contract/change-listener.js';
import type { ServerDescription } from '../../../upstreams/contract/server-description.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { UpstreamHealth } from '../../../upstreams/pool/upstream-health.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import type { Sent } from '../../forwarding/upstream-sender.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { offeredChanges } from './subscription-filter.js';
import { SubscriptionStream } from './subscription-stream.js';

/** How many subscriptions this process has, and of one caller; and the same for the resources of all of them. */
const MAX_SUBSCRIPTIONS = 2_048;
const MAX_SUBSCRIPTIONS_OF_CALLER = 128;
const MAX_RESOURCES = 16_384;
const MAX_RESOURCES_OF_CALLER = 1_024;

const NOTHING: WantedChanges = { kinds: [], uris: [] };

/**
 * Answers `subscriptions/listen` of clients of the modern era for upstreams of the legacy era, which report changes in
 * their sessions. A subscription is in the session in which the caller's calls are sent, so that it hears of what they
 * change there.
 */
@Injectable()
export class LegacySubscriptions {
  private readonly resources = new Shares(MAX_RESOURCES, [half, atMost(MAX_RESOURCES_OF_CALLER)]);
  private readonly places = new Shares(MAX_SUBSCRIPTIONS, [half, atMost(MAX_SUBSCRIPTIONS_OF_CALLER)]);

  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly connections: OpenConnections,
  ) {}

  /** @throws DomainError `invalid_arguments`, `connection_unavailable`; UpstreamError */
  async subscribe(
    { caller, message, route, deadline }: McpRequestContext<InboundRequest>,
    { capabilities, serverInfo }: ServerDescription,
  ): Promise<Sent> {
    const { connection } = caller;
    const wanted = offeredChanges(message, capabilities, caller);
    if (isNothing(wanted)) return acknowledged(new SubscriptionStream(message.id, serverInfo), NOTHING);
    const holder = [connection.organizationId, caller.key];
    const claim = { holder, also: { of: this.resources, holder, units: wanted.uris.length } };
    if (!this.places.tryTake(claim)) throw new UpstreamError('busy', 'The caller has too many subscriptions.');
    const stream = new SubscriptionStream(message.id, serverInfo);
    const { body } = stream;
    const channel = this.channels.pooled(connection, route.kind === 'pooled' ? route.owner : undefined);
    const subscription = channel.subscription(wanted, stream, caller.key);
    const unwatch = this.connections.watchConnection(connection, () =>
      stream.failed(new UpstreamError('cancelled', 'The connection was changed.')),
    );
    body.once('close', () => {
      subscription.stop();
      unwatch();
      this.places.giveBack(claim);
    });
    // A relay that waits for the next event does not notice that its client has gone.
    deadline.onStop(() => body.destroy());
    try {
      const uris = await this.health.watchCall(connection, () => subscription.open(deadline.signal));
      return acknowledged(stream, uris === undefined ? NOTHING : { kinds: wanted.kinds, uris });
    } catch (error) {
      body.destroy();
      throw error;
    }
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
