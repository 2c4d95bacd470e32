import { Injectable } from '@nestjs/common';
import { AnswerRooms, type OwnRoom } from '../../../core/answers/answer-room.js';
import { DomainError } from '../../../core/domain-error.js';
import { onceClosed, untilClosed } from '../../../platform/http/once-closed.js';
import { type ListedKind, listChangedMethod } from '../../../upstreams/contract/list-change.js';
import type { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { EventStream } from '../../../upstreams/messages/sse-parts.js';
import type { SessionRequest } from '../../forwarding/connection-sessions.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../../forwarding/session/session-streams.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { pooledRoute } from '../../forwarding/upstream-router.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { requireGrant } from '../../protocol/proxy-caller.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { UpstreamEras } from '../upstream-eras.js';
import { type ChangeStream, ChangeSubscriptions } from './change-subscriptions.js';
import { sessionFeatures } from '../session-features.js';
import { SessionSubscriptions } from './session-subscriptions.js';
import { permittedKinds } from './subscription-filter.js';

/**
 * Tells clients of the legacy era, whose session with an upstream of the modern era exists only in this service, which
 * of its lists and of the resources that they have subscribed to have changed, and the log messages that an answer
 * leaves out.
 */
@Injectable()
export class SessionNotifications {
  constructor(
    private readonly changes: ChangeSubscriptions,
    private readonly subscriptions: SessionSubscriptions,
    private readonly streams: SessionStreams,
    private readonly eras: UpstreamEras,
    private readonly writer: ReplyWriter,
    private readonly rooms: AnswerRooms,
  ) {}

  /** Answers GET of the MCP transport. @throws DomainError */
  async listen({ request, reply, caller, session }: SessionRequest): Promise<void> {
    requireGrant(caller);
    const closed = untilClosed(reply);
    try {
      const description = await this.eras.describeUpstream(caller.connection, closed);
      const kinds = permittedKinds(description.capabilities, caller);
      const { logging, resources } = sessionFeatures(description, caller);
      const canSubscribe = resources?.subscribe === true;
      const hasOthers = logging !== undefined || canSubscribe;
      if (kinds.length === 0 && !hasOthers) throw noNotifications();
      if (request.method === 'HEAD') {
        await reply.type('text/event-stream').send();
        return;
      }
      // A program reports what the client's calls change in the process that serves them.
      const { owner } = pooledRoute(caller, {}, session);
      const stream = new SessionChangeStream(kinds, () => this.rooms.open(caller.principal));
      onceClosed(reply, () => stream.body.destroy());
      const subscribed = await this.changes.open(stream, { kinds, uris: [] }, caller, { signal: closed, owner });
      if (subscribed === undefined && !hasOthers) {
        stream.body.destroy();
        throw noNotifications();
      }
      // A destroyed stream emits no further `close`.
      if (!stream.body.destroyed) {
        this.streams.add(session, stream.body);
        if (canSubscribe) stream.body.once('close', this.subscriptions.listen({ session, caller }));
      }
      const body = keepAlive(stream.events());
      this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
    } catch (error) {
      throw toProxyError(error);
    }
  }

  /** Call when the client has ended the session. */
  endSession(session: Session): void {
    this.subscriptions.endSession(session);
    this.streams.endSession(session);
  }
}

function noNotifications(): DomainError {
  return new DomainError('method_not_allowed', 'The upstream sends no notifications in this session.');
}

/** The notifications of one session. */
class SessionChangeStream implements ChangeStream {
  readonly body: EventStream;

  /** @param openRoom see `EventStream` */
  constructor(
    private readonly kinds: readonly ListedKind[],
    openRoom: () => OwnRoom,
  ) {
    this.body = new EventStream(openRoom);
    // Without a listener, an error would end this process.
    this.body.on('error', () => undefined);
  }

  listChanged(kind: ListedKind): void {
    this.body.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: listChangedMethod(kind) })));
  }

  /** The subscriptions to resources come and go while the client listens, so they have a reader of their own. */
  resourceUpdated(): void {}

  missed(): void {
    for (const kind of this.kinds) this.listChanged(kind);
  }

  failed(error: UpstreamError): void {
    this.body.destroy(error);
  }

  async *events(): AsyncGenerator<Buffer> {
    for await (const chunk of this.body) yield chunk as Buffer;
  }
}
