import { Injectable } from '@nestjs/common';
import { SealedRequestIds } from '../../forwarding/session/sealed-request-ids.js';
import type { ClientUpstreamSession, SessionOwner } from './client-upstream-session.js';
import type { EventIdRewriter } from './rewrite-event-ids.js';

/** Where to send the answer to an upstream's request. */
export interface UpstreamRequestId {
  readonly connectionId: string;
  readonly revision: number;
  /** The session that the upstream opened; absent for an upstream without sessions. */
  readonly upstreamId?: string | undefined;
  readonly protocolVersion: string;
  /** The upstream's id of the request. */
  readonly id: string | number;
}

const SEPARATOR = '~';

/**
 * Encodes into the id of an upstream's request where to send the answer, and decodes it, for the caller's session with
 * the agent.
 */
@Injectable()
export class RequestIdCodec {
  constructor(private readonly ids: SealedRequestIds) {}

  /**
   * For the answer to a request of the caller. It can be resumed, because its event ids name the connection and the
   * request.
   * @param callerId the id of the request
   */
  forAnswer(owner: SessionOwner, upstreamSession: ClientUpstreamSession, callerId: string | number): EventIdRewriter {
    const requestId = Buffer.from(JSON.stringify(callerId)).toString('base64url');
    const event = (id: string): string => [upstreamSession.connection.id, requestId, id].join(SEPARATOR);
    return { ...this.forStream(owner, upstreamSession), event, answers: callerId };
  }

  /** For an upstream's unsolicited messages. Their stream is shared by many upstreams and cannot be resumed. */
  forStream(owner: SessionOwner, { connection, session, protocolVersion }: ClientUpstreamSession): EventIdRewriter {
    const { upstreamId, revision } = session;
    const target = { connectionId: connection.id, revision, upstreamId, protocolVersion };
    const request = (id: string | number): string | undefined => this.ids.seal(owner.session, { ...target, id });
    return { request, event: () => undefined, answers: undefined };
  }

  /** Decodes an event id that `forAnswer` encoded; undefined for any other id. */
  eventAt(id: string): { connectionId: string; callerId: string | number; eventId: string } | undefined {
    const [connectionId = '', requestId = '', ...rest] = id.split(SEPARATOR);
    try {
      const callerId: unknown = JSON.parse(Buffer.from(requestId, 'base64url').toString('utf8'));
      if (typeof callerId !== 'string' && typeof callerId !== 'number') return undefined;
      return { connectionId, callerId, eventId: rest.join(SEPARATOR) };
    } catch {
      return undefined;
    }
  }

  /** @throws DomainError `invalid_rpc_request` */
  open({ session }: SessionOwner, id: unknown): UpstreamRequestId {
    return this.ids.open(session, id) as UpstreamRequestId;
  }
}
