import { Injectable } from '@nestjs/common';
import { OpenConnections } from '../../../connections/open-connections.js';
import { atMost, half, Shares } from '../../../core/sharing/shares.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { ChangeReader } from '../../../upstreams/channels/upstream-subscription.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import type { WantedChanges } from '../../../upstreams/contract/change-listener.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { EventStream } from '../../../upstreams/messages/event-stream.js';
import { UpstreamHealth } from '../../../upstreams/pool/upstream-health.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';

/** How many subscriptions this process has, and of one caller; and the same for the resources of all of them. */
const MAX_SUBSCRIPTIONS = 2_048;
const MAX_SUBSCRIPTIONS_OF_CALLER = 128;
const MAX_RESOURCES = 16_384;
const MAX_RESOURCES_OF_CALLER = 1_024;

/** A stream of changes to a client. */
export interface ChangeStream extends ChangeReader {
  readonly body: EventStream;
}

/** The streams by which this process reports the changes of upstreams to clients of another era. */
@Injectable()
export class ChangeSubscriptions {
  private readonly resources = new Shares(MAX_RESOURCES, [half, atMost(MAX_RESOURCES_OF_CALLER)]);
  private readonly places = new Shares(MAX_SUBSCRIPTIONS, [half, atMost(MAX_SUBSCRIPTIONS_OF_CALLER)]);

  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly connections: OpenConnections,
  ) {}

  /**
   * Reports changes until the stream is closed, or the connection changes. Resolves with the resources that the upstream
   * has subscribed to; undefined if it reports no changes.
   * @param owner in whose session the changes are reported; absent: the shared one
   * @throws DomainError `connection_unavailable`; UpstreamError
   */
  async open(
    stream: ChangeStream,
    wanted: WantedChanges,
    { connection, key }: ProxyCaller,
    signal: AbortSignal,
    owner?: StateOwner,
  ): Promise<readonly string[] | undefined> {
    const subscription = this.channels.pooled(connection, owner).subscription(wanted, stream, key);
    const holder = [connection.organizationId, key];
    const claim = { holder, also: { of: this.resources, holder, units: wanted.uris.length } };
    if (!this.places.tryTake(claim)) throw new UpstreamError('busy', 'The caller has too many subscriptions.');
    const { body } = stream;
    const unwatch = this.connections.watchConnection(connection, () =>
      stream.failed(new UpstreamError('cancelled', 'The connection was changed.')),
    );
    body.once('close', () => {
      subscription.stop();
      unwatch();
      this.places.giveBack(claim);
    });
    try {
      return await this.health.watchCall(connection, () => subscription.open(signal));
    } catch (error) {
      body.destroy();
      throw error;
    }
  }
}
