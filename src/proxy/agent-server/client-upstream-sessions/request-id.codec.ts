import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
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

/** Callers and this service reject longer ids. */
const MAX_LENGTH = 1024;
const SEPARATOR = '~';

/**
 * Encodes into the id of an upstream's request where to send the answer, and decodes it. The id is encrypted for the
 * caller's session with the agent, so any process can route the answer, and no caller can forge an id or use another
 * caller's.
 */
@Injectable()
export class RequestIdCodec {
  constructor(private readonly vault: VaultService) {}

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
    return { request: (id) => this.seal(owner, { ...target, id }), event: () => undefined, answers: undefined };
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

  /** Undefined if the upstream's own id is too long. */
  private seal(owner: SessionOwner, target: UpstreamRequestId): string | undefined {
    const id = this.vault.seal(JSON.stringify(target), contextOf(owner));
    return id.length > MAX_LENGTH ? undefined : id;
  }

  /** @throws DomainError `invalid_rpc_request` */
  open(owner: SessionOwner, id: unknown): UpstreamRequestId {
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      return JSON.parse(this.vault.open(String(id), contextOf(owner))) as UpstreamRequestId;
    } catch {
      throw new DomainError('invalid_rpc_request', 'The session has no request with this id.');
    }
  }
}

/** The key is random, and known only from a session id that is valid for one principal at one agent. */
function contextOf({ session }: SessionOwner): string {
  return `mcp-return:${session.key}`;
}
