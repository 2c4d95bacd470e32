import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenConnections } from '../../connections/open-connections.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { DomainError } from '../../core/domain-error.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { CallDeadline, NO_LIMIT_MS } from '../../upstreams/contract/call-deadline.js';
import { ownerOfSession } from '../../upstreams/contract/callers.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { ExchangeOptions, UpstreamAnswer, UpstreamChannel } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import { rpcErrorText } from '../protocol/json-rpc-error.js';
import { forwardedHeaders } from '../protocol/inbound-message.js';
import { requireGrant, type ProxyCaller } from '../protocol/proxy-caller.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { OpenRequests } from './asked-clients/open-requests.js';
import { CallerFilters } from './caller-filters.js';
import { isShared } from './upstream-router.js';
import { keepAlive } from './relay/keep-alive.js';
import { relayUnsolicited } from './relay/relay-unsolicited.js';
import { ReplyWriter } from './reply-writer.js';
import type { Session } from './session/sealed-sessions.js';
import { SessionTools } from './session/session-tools.js';
import { sessionAtUpstream } from './upstream-sender.js';

const END_TIMEOUT_MS = 10_000;

/** A caller's session with one connection, which a request concerns as a whole. */
export interface SessionRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: ProxyCaller;
  readonly session: Session;
}

/** Passes what concerns a session with one connection as a whole to the upstream. */
@Injectable()
export class ConnectionSessions {
  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly sessionTools: SessionTools,
    private readonly filters: CallerFilters,
    private readonly connections: OpenConnections,
    private readonly writer: ReplyWriter,
    private readonly rooms: AnswerRooms,
    private readonly openRequests: OpenRequests,
  ) {}

  /**
   * Streams the unsolicited messages of the upstream; HEAD gets the head of that answer without a stream.
   * @throws DomainError
   */
  async listen(context: SessionRequest): Promise<void> {
    const { request, reply, caller, session } = context;
    requireStream(caller, session);
    if (request.method === 'HEAD') {
      await reply.type('text/event-stream').send();
      return;
    }
    const filter = await this.filters.forStream(request, caller, session);
    const deadline = new CallDeadline(undefined, NO_LIMIT_MS);
    onceClosed(reply, () => deadline.cancel());
    onceClosed(
      reply,
      this.connections.watchConnection(caller.connection, () => reply.raw.destroy()),
    );
    const answer = await this.exchange(context, deadline, (channel, options) => channel.listen(options));
    if (answer.contentType !== 'text/event-stream') {
      discard(answer.body);
      // Such as a session that has a stream already.
      if (answer.status === 409) throw new DomainError('conflict', 'The upstream answered 409.');
      throw new DomainError('method_not_allowed', 'The upstream does not send unsolicited messages.');
    }
    const body = keepAlive(
      relayUnsolicited(answer.body, filter, () => this.sessionTools.listChanged(caller.connection, session.key), {
        request,
        reply,
        rooms: this.rooms,
      }),
    );
    this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, answer.headers);
  }

  /** Ends the session at the upstream. @throws DomainError */
  async end(context: SessionRequest): Promise<void> {
    const { request, reply, caller, session } = context;
    if (session.isTranslated === true || isShared({ caller, route: { kind: 'session', session } })) {
      // The upstream has no session to end; an upstream without sessions might end the work of all callers.
      this.sessionTools.forget(session.key);
      this.endOwned(caller, session);
      await reply.status(200).send();
      return;
    }
    const deadline = new CallDeadline(undefined, END_TIMEOUT_MS);
    try {
      const answer = await this.exchange(context, deadline, (channel, options) => channel.end(options));
      discard(answer.body);
      this.sessionTools.forget(session.key);
      reply.status(answer.status).headers(answer.headers);
      await (answer.status < 400
        ? reply.send()
        : reply.type('application/json').send(refusedEnd(answer.status, request.id)));
    } finally {
      deadline.end();
    }
  }

  /** Ends the sessions that the service has opened for this one, and what waits for its client. */
  endOwned({ principal }: ProxyCaller, session: Session): void {
    this.openRequests.endSession(session);
    if (principal !== undefined) this.channels.endOwned(ownerOfSession(session.key, principal).key);
  }

  private async exchange(
    { request, caller, session }: SessionRequest,
    deadline: CallDeadline,
    work: (channel: UpstreamChannel, options: ExchangeOptions) => Promise<UpstreamAnswer>,
  ): Promise<UpstreamAnswer> {
    const { connection } = caller;
    const headers = { ...forwardedHeaders(request.headers), 'x-request-id': request.id };
    const atUpstream = sessionAtUpstream({ kind: 'session', session }, caller);
    try {
      return await this.health.watchCall(connection, async () => {
        const channel = await this.channels.session(connection, atUpstream);
        return work(channel, { signal: deadline.signal, headers, caller: caller.key });
      });
    } catch (error) {
      throw toProxyError(deadline.explain(error));
    }
  }
}

/** @throws DomainError unless the caller can listen in this session */
function requireStream(caller: ProxyCaller, session: Session): void {
  requireGrant(caller);
  if (session.isTranslated === true)
    throw new DomainError('method_not_allowed', 'This session has no stream of unsolicited messages.');
}

/** The upstream's own answer is dropped: callers cannot act on it, and it can have any size. */
function refusedEnd(status: number, requestId: string): string {
  const error = new DomainError('upstream_protocol', `The upstream answered ${status} and did not end the session.`);
  return rpcErrorText(error, null, requestId);
}
