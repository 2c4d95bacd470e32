import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { onceClosed, untilClosed } from '../../../platform/http/once-closed.js';
import { type ListedKind, listChangedMethod } from '../../../upstreams/contract/list-change.js';
import type { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { EventStream } from '../../../upstreams/messages/event-stream.js';
import type { SessionRequest } from '../../forwarding/connection-sessions.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { pooledRoute } from '../../forwarding/upstream-router.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { requireGrant } from '../../protocol/proxy-caller.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { UpstreamEras } from '../upstream-eras.js';
import { type ChangeStream, ChangeSubscriptions } from './change-subscriptions.js';
import { permittedKinds } from './subscription-filter.js';

/**
 * Tells clients of the legacy era, whose session with an upstream of the modern era exists only in this service, which
 * of its lists have changed.
 */
@Injectable()
export class SessionListChanges {
  constructor(
    private readonly subscriptions: ChangeSubscriptions,
    private readonly eras: UpstreamEras,
    private readonly writer: ReplyWriter,
  ) {}

  /** Answers GET of the MCP transport. @throws DomainError */
  async listen({ request, reply, caller, session }: SessionRequest): Promise<void> {
    requireGrant(caller);
    const closed = untilClosed(reply);
    try {
      const { capabilities } = await this.eras.describeUpstream(caller.connection, closed);
      const kinds = permittedKinds(capabilities, caller);
      if (kinds.length === 0) throw noChanges();
      if (request.method === 'HEAD') {
        await reply.type('text/event-stream').send();
        return;
      }
      // A program reports what the client's calls change in the process that serves them.
      const { owner } = pooledRoute(caller, {}, session);
      const stream = new SessionChangeStream(kinds);
      onceClosed(reply, () => stream.body.destroy());
      const subscribed = await this.subscriptions.open(stream, { kinds, uris: [] }, caller, closed, owner);
      if (subscribed === undefined) throw noChanges();
      const body = keepAlive(stream.events());
      this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
    } catch (error) {
      throw toProxyError(error);
    }
  }
}

function noChanges(): DomainError {
  return new DomainError('method_not_allowed', 'The upstream reports no changes of its lists.');
}

/** The notifications of one session. */
class SessionChangeStream implements ChangeStream {
  readonly body = new EventStream();

  constructor(private readonly kinds: readonly ListedKind[]) {
    // Without a listener, an error would end this process.
    this.body.on('error', () => undefined);
  }

  listChanged(kind: ListedKind): void {
    this.body.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: listChangedMethod(kind) })));
  }

  /** No client of this era is subscribed to a resource of an upstream of the other one. */
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
