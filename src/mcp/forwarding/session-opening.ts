import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import type { Dispatch } from './upstream-sender.js';
import { declaresCapabilities, toStoredInitialize } from './session/initialize-request.js';
import { SealedSessions } from './session/sealed-sessions.js';

/** Longer session ids of upstreams do not fit into one of ours. */
const MAX_UPSTREAM_ID_LENGTH = 1024;

/** Gives a caller the id of the session that its `initialize` has opened. */
@Injectable()
export class SessionOpening {
  constructor(private readonly sessions: SealedSessions) {}

  /** @throws UpstreamError, DomainError `invalid_rpc_request` */
  announce(
    reply: FastifyReply,
    { status, sessionId }: UpstreamAnswer,
    { caller, route, message }: Omit<Dispatch, 'headers'>,
  ): void {
    if (status >= 400 || route.kind !== 'opening') return;
    if (sessionId !== undefined && sessionId.length > MAX_UPSTREAM_ID_LENGTH) {
      throw new UpstreamError('protocol', 'The upstream answered with a session id that is too long.');
    }
    const { connection, principal } = caller;
    const session = {
      key: route.key,
      hasOwnTools: declaresCapabilities(message),
      ...(sessionId !== undefined && { upstreamId: sessionId }),
      ...(connection.type === 'STDIO' && { initialize: toStoredInitialize(message) }),
    };
    reply.header('mcp-session-id', this.sessions.seal(session, connection, principal));
  }
}
