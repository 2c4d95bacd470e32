import { Injectable } from '@nestjs/common';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { declaresUrlElicitation } from '../protocol/url-elicitation.js';
import type { McpRequestContext } from './upstream-router.js';
import { declaresCapabilities, toStoredInitialize } from './session/initialize-request.js';
import { SealedSessions } from './session/sealed-sessions.js';
import type { Sent } from './upstream-sender.js';

/** Longer upstream session ids do not fit into a sealed session id. */
const MAX_UPSTREAM_ID_LENGTH = 1024;

/** Sends the caller the id of the session that its `initialize` opened. */
@Injectable()
export class SessionOpening {
  constructor(private readonly sessions: SealedSessions) {}

  /** @throws UpstreamError, DomainError `invalid_rpc_request` */
  announceSession(
    { caller, route, message, reply }: McpRequestContext,
    { answer, isTranslated, isStandIn }: Sent,
  ): void {
    const { status, sessionId } = answer;
    if (route.kind !== 'opening') return;
    const { connection, principal } = caller;
    const urlElicitation = declaresUrlElicitation(message) ? ({ hasUrlElicitation: true } as const) : {};
    if (isTranslated === true) {
      const standIn = isStandIn === true ? { isStandIn } : {};
      const translated = { hasOwnTools: false, isTranslated, ...standIn, ...urlElicitation };
      reply.header('mcp-session-id', this.sessions.seal(translated, connection, principal));
      return;
    }
    if (status >= 400) return;
    if (sessionId !== undefined && sessionId.length > MAX_UPSTREAM_ID_LENGTH) {
      throw new UpstreamError('protocol', 'The upstream answered with a session id that is too long.');
    }
    const session = {
      key: route.key,
      hasOwnTools: declaresCapabilities(message),
      ...urlElicitation,
      ...(sessionId !== undefined && { upstreamId: sessionId }),
      ...(connection.type === 'STDIO' && { initialize: toStoredInitialize(message) }),
    };
    reply.header('mcp-session-id', this.sessions.seal(session, connection, principal));
  }
}
