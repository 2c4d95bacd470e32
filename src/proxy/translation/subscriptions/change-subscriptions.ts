import { Injectable } from '@nestjs/common';
import { OpenConnections } from '../../../connections/open-connections.js';
import { atMost, half, Shares } from '../../../core/sharing/shares.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { ChangeReader } from '../../../upstreams/channels/upstream-subscription.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import type { WantedChanges } from '../../../upstreams/contract/list-change.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { EventStream } from '../../../upstreams/messages/sse-parts.js';
import { UpstreamHealth } from '../../../upstreams/pool/upstream-health.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';

/** How many subscriptions this process has, and of one caller; and the same for the resources of all of them. */
const MAX_SUBSCRIPTIONS = 2_048;
const MAX_SUBSCRIPTIONS_OF_CALLER = 128;
const MAX_RESOURCES = 16_384;
export const MAX_RESOURCES_OF_CALLER = 1_024;

/** A stream of changes to a client. */
export interface ChangeStream extends ChangeReader {
  readonly body: EventStream;
}

interface SubscriptionOptions {
  /** Ends the wait for the upstream. */
  readonly signal?: AbortSignal | undefined;
  readonly owner?: StateOwner | undefined;
}

/** A subscription that is opened. */
export interface BegunSubscription {
  /**
   * Resolves with the resources that the upstream has subscribed to; undefined if it reports no changes. Rejects with
   * `UpstreamError`.
   */
  readonly opened: Promise<readonly string[] | undefined>;
  readonly stop: () => void;
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
   * Reports changes until the stream is closed, or the connection changes. Resolves with the resources that the
   * upstream has subscribed to; undefined if it reports no changes.
   * @param options.owner in whose session the changes are reported; absent: the shared one
   * @throws DomainError `connection_unavailable`; UpstreamError
   */
  async open(
    stream: ChangeStream,
    wanted: WantedChanges,
    caller: ProxyCaller,
    options: SubscriptionOptions,
  ): Promise<readonly string[] | undefined> {
    const release = this.hold(caller, wanted.uris.length);
    const { body } = stream;
    body.once('close', release);
    try {
      const { opened, stop } = this.begin(stream, wanted, caller, options);
      body.once('close', stop);
      return await opened;
    } catch (error) {
      body.destroy();
      throw error;
    }
  }

  /** Subscribes, without counting it. Call `stop` in any case. @throws DomainError `connection_unavailable` */
  begin(
    reader: ChangeReader,
    wanted: WantedChanges,
    { connection, key }: ProxyCaller,
    { signal, owner }: SubscriptionOptions,
  ): BegunSubscription {
    const subscription = this.channels.pooled(connection, owner).subscription(wanted, reader, key);
    const unwatch = this.connections.watchConnection(connection, () =>
      reader.failed(new UpstreamError('cancelled', 'The connection was changed.')),
    );
    const stop = (): void => {
      subscription.stop();
      unwatch();
    };
    return { opened: this.health.watchCall(connection, () => subscription.open(signal)), stop };
  }

  /**
   * Counts a subscription until the returned function is called, which can be done once.
   * @throws UpstreamError `busy`
   */
  hold({ connection, key }: ProxyCaller, resources: number): () => void {
    const holder = [connection.organizationId, key];
    const claim = { holder, also: { of: this.resources, holder, units: resources } };
    if (!this.places.tryTake(claim)) throw new UpstreamError('busy', 'The caller has too many subscriptions.');
    return () => this.places.giveBack(claim);
  }
}
