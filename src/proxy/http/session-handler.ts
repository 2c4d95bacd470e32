import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { DomainError } from '../../core/domain-error.js';
import { OpenConnections } from '../../connections/open-connections.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { ExchangeOptions, UpstreamAnswer, UpstreamChannel } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { ownerOfSession } from '../../upstreams/contract/state-owner.js';
import { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import { CallerResolver } from './caller-resolver.js';
import { AgentNotificationStream } from '../agent-server/offering/agent-notification-stream.js';
import { ClientUpstreamSessions } from '../agent-server/client-upstream-sessions/client-upstream-sessions.js';
import { ClientSessionStreams } from '../agent-server/client-upstream-sessions/client-session-streams.js';
import { forwardedHeaders } from '../protocol/mcp-headers.js';
import { callerFilter } from '../forwarding/caller-filter.js';
import { isShared } from '../forwarding/forwarding-context.js';
import { OriginPolicy } from './origin-policy.js';
import { requireGrant } from '../protocol/method-rules.js';
import { rpcErrorText } from '../protocol/json-rpc-error.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { keepAlive } from '../forwarding/relay/keep-alive.js';
import { relayUnsolicited } from '../forwarding/relay/relay-unsolicited.js';
import type { Session } from '../forwarding/session/sealed-sessions.js';
import { SessionTools } from '../forwarding/session/session-tools.js';
import { TaskOwners } from '../forwarding/tasks/task-owners.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { UpstreamRouter } from '../forwarding/upstream-router.js';
import { sessionAtUpstream } from '../forwarding/upstream-sender.js';

/** The maximum of `setTimeout`, which is longer than any session. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const END_TIMEOUT_MS = 10_000;

/** Handles GET and DELETE of the MCP transport, which concern a session as a whole. */
@Injectable()
export class SessionHandler {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly router: UpstreamRouter,
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly sessionTools: SessionTools,
    private readonly tasks: TaskOwners,
    private readonly connections: OpenConnections,
    private readonly writer: ReplyWriter,
    private readonly rooms: AnswerRooms,
    private readonly agentStream: AgentNotificationStream,
    private readonly clientSessions: ClientUpstreamSessions,
    private readonly clientStreams: ClientSessionStreams,
  ) {}

  /** Streams the unsolicited messages of the upstream; HEAD gets the head of that answer without a stream. @throws DomainError */
  async listenToSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller, session } = await this.openSession(request);
    const isAgent = caller.connection.type === 'VIRTUAL';
    if (!isAgent) requireStream(caller, session);
    if (request.method === 'HEAD') {
      await reply.type('text/event-stream').send();
      return;
    }
    if (isAgent) {
      const owner = this.clientSessions.ownerOf(caller, session);
      if (owner === undefined) this.agentStream.listen(request, reply, caller);
      else await this.clientStreams.listen(request, reply, owner);
      return;
    }
    const deadline = new CallDeadline(undefined, NO_LIMIT_MS);
    onceClosed(reply, () => deadline.cancel());
    onceClosed(
      reply,
      this.connections.watchConnection(caller.connection, () => reply.raw.destroy()),
    );
    const answer = await this.exchange(
      caller,
      session,
      deadline,
      (channel, options) => channel.listen(options),
      request,
    );
    if (answer.contentType !== 'text/event-stream') {
      discard(answer.body);
      // Such as a session that has a stream already.
      if (answer.status === 409) throw new DomainError('conflict', 'The upstream answered 409.');
      throw new DomainError('method_not_allowed', 'The upstream does not send unsolicited messages.');
    }
    const body = keepAlive(
      relayUnsolicited(
        answer.body,
        callerFilter(caller, this.tasks),
        () => this.sessionTools.listChanged(caller.connection, session.key),
        { request, reply, rooms: this.rooms },
      ),
    );
    this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, answer.headers);
  }

  /** Ends the session. @throws DomainError */
  async endSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller, session } = await this.openSession(request);
    if (caller.connection.type === 'VIRTUAL') {
      this.clientSessions.endSessions(session.key);
      this.endOwned(caller, session);
      await reply.status(200).send();
      return;
    }
    if (session.isTranslated === true || isShared({ caller, route: { kind: 'session', session } })) {
      // The upstream has no session to end; an upstream without sessions might end the work of all callers.
      this.sessionTools.forget(session.key);
      this.endOwned(caller, session);
      await reply.status(200).send();
      return;
    }
    const deadline = new CallDeadline(undefined, END_TIMEOUT_MS);
    try {
      const answer = await this.exchange(
        caller,
        session,
        deadline,
        (channel, options) => channel.end(options),
        request,
      );
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

  /** Ends the sessions that the service has opened for this one. */
  private endOwned({ principal }: ProxyCaller, session: Session): void {
    if (principal !== undefined) this.channels.endOwned(ownerOfSession(session.key, principal).key);
  }

  private async openSession(request: FastifyRequest): Promise<{ caller: ProxyCaller; session: Session }> {
    this.origins.requireAllowedOrigin(request.headers);
    const caller = await this.callers.resolveCaller(request);
    const session = this.router.sessionOf(request, caller);
    if (session === undefined) {
      throw new DomainError(
        'method_not_allowed',
        'This method needs a session. Send `initialize` with POST first.',
        [],
        {
          headers: { allow: 'POST' },
        },
      );
    }
    requireActive(caller.connection);
    return { caller, session };
  }

  private async exchange(
    caller: ProxyCaller,
    session: Session,
    deadline: CallDeadline,
    work: (channel: UpstreamChannel, options: ExchangeOptions) => Promise<UpstreamAnswer>,
    request: FastifyRequest,
  ): Promise<UpstreamAnswer> {
    const { connection } = caller;
    const headers = { ...forwardedHeaders(request.headers), 'x-request-id': request.id };
    try {
      return await this.health.watchCall(connection, async () => {
        const channel = await this.channels.session(
          connection,
          sessionAtUpstream({ kind: 'session', session }, caller),
        );
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
