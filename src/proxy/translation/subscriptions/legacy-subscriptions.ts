import { Injectable } from '@nestjs/common';
import { AnswerRooms, type OwnRoom } from '../../../core/answers/answer-room.js';
import {
  type WantedChanges,
  type ListedKind,
  listChangedMethod,
  RESOURCE_UPDATED,
} from '../../../upstreams/contract/list-change.js';
import type { ServerDescription } from '../../../upstreams/contract/upstream.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import type { Sent } from '../../forwarding/upstream-sender.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { ChangeSubscriptions } from './change-subscriptions.js';
import { offeredChanges, filterOf } from './subscription-filter.js';
import type { Implementation } from '@modelcontextprotocol/client';
import type { ChangeReader } from '../../../upstreams/channels/upstream-subscription.js';
import type { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { EventStream } from '../../../upstreams/messages/sse-parts.js';
import { SERVER_INFO } from '../to-modern-answer.js';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** The answer to `subscriptions/listen` (MCP 2026-07-28): the acknowledgement, then the notifications. */
class SubscriptionStream implements ChangeReader {
  readonly body: EventStream;
  /** Undefined until the subscription is acknowledged, before which nothing can be sent. */
  private honored: WantedChanges | undefined;
  private hasMissed = false;

  /**
   * @param id of the client's request, JSON text
   * @param openRoom see `EventStream`
   */
  constructor(
    private readonly id: string,
    private readonly serverInfo: Implementation | undefined,
    openRoom: () => OwnRoom,
  ) {
    this.body = new EventStream(openRoom);
    // Without a listener, an error would end this process.
    this.body.on('error', () => undefined);
  }

  /** Sends what the subscription is to. One to nothing ends at once. */
  acknowledge(honored: WantedChanges): void {
    this.honored = honored;
    this.notify(ACKNOWLEDGED, { notifications: filterOf(honored) });
    if (honored.kinds.length === 0 && honored.uris.length === 0) this.complete();
    if (this.hasMissed) this.missed();
  }

  listChanged(kind: ListedKind): void {
    this.report(listChangedMethod(kind));
  }

  resourceUpdated(uri: string): void {
    this.report(RESOURCE_UPDATED, { uri });
  }

  missed(): void {
    this.hasMissed = true;
    for (const kind of this.honored?.kinds ?? []) this.listChanged(kind);
    for (const uri of this.honored?.uris ?? []) this.resourceUpdated(uri);
  }

  failed(error: UpstreamError): void {
    this.body.destroy(error);
  }

  private report(method: string, params?: object): void {
    if (this.honored === undefined) this.hasMissed = true;
    else this.notify(method, params);
  }

  private notify(method: string, params: object = {}): void {
    this.send({ method, params: { ...params, _meta: { [SUBSCRIPTION]: JSON.parse(this.id) as unknown } } });
  }

  private complete(): void {
    const info = this.serverInfo === undefined ? {} : { [SERVER_INFO]: this.serverInfo };
    const id = JSON.parse(this.id) as unknown;
    this.send({ id, result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: id, ...info } } });
    this.body.finish();
  }

  private send(message: object): void {
    this.body.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  }
}

const NOTHING: WantedChanges = { kinds: [], uris: [] };

/**
 * Answers `subscriptions/listen` of clients of the modern era for upstreams of the legacy era, which report changes in
 * their sessions. A subscription is in the session in which the caller's calls are sent, so that it hears of what they
 * change there.
 */
@Injectable()
export class LegacySubscriptions {
  constructor(
    private readonly subscriptions: ChangeSubscriptions,
    private readonly rooms: AnswerRooms,
  ) {}

  /** @throws DomainError `invalid_arguments`, `connection_unavailable`; UpstreamError */
  async subscribe(
    { caller, message, route, deadline }: McpRequestContext<InboundRequest>,
    { capabilities, serverInfo }: ServerDescription,
  ): Promise<Sent> {
    const wanted = offeredChanges(message, capabilities, caller);
    const stream = new SubscriptionStream(message.id, serverInfo, () => this.rooms.open(caller.principal));
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
