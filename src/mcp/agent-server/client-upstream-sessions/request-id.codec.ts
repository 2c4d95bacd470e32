import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../common/domain-error.js';
import { VaultService } from '../../../vault/vault.service.js';
import type { ClientUpstreamSession, SessionOwner } from './client-upstream-session.js';
import type { EventIdRewriter } from './rewrite-event-ids.js';

/** Where the answer to a request of an upstream has to go. */
export interface UpstreamRequestId {
  readonly connectionId: string;
  readonly revision: number;
  /** The session that the upstream opened; absent for one that keeps none. */
  readonly upstreamId?: string | undefined;
  readonly protocolVersion: string;
  /** The upstream's id of the request. */
  readonly id: string | number;
}

/** Ids that are longer are refused by callers and by this service. */
const MAX_LENGTH = 1024;
const SEPARATOR = '~';

/**
 * Turns the ids of upstreams' requests into ids that say where the answer has to go, and back. Such an id is encrypted for the
 * caller's session with the agent, so any process can route the answer, and no caller can make one up or use another's.
 */
@Injectable()
export class RequestIdCodec {
  constructor(private readonly vault: VaultService) {}

  /**
   * For the answer to a request of the caller, which can be resumed: the ids of its events name connection and request.
   * @param callerId the id of the request
   */
  forAnswer(owner: SessionOwner, member: ClientUpstreamSession, callerId: string | number): EventIdRewriter {
    const asked = Buffer.from(JSON.stringify(callerId)).toString('base64url');
    const event = (id: string): string => [member.connection.id, asked, id].join(SEPARATOR);
    return { ...this.forStream(owner, member), event, answers: callerId };
  }

  /** For what an upstream sends unasked, in a stream that many of them share: it cannot be resumed. */
  forStream(owner: SessionOwner, { connection, session, protocolVersion }: ClientUpstreamSession): EventIdRewriter {
    const { upstreamId, revision } = session;
    const address = { connectionId: connection.id, revision, upstreamId, protocolVersion };
    return { request: (id) => this.seal(owner, { ...address, id }), event: () => undefined, answers: undefined };
  }

  /** What the id of an event says that `forAnswer` named; undefined for another one. */
  eventAt(id: string): { connectionId: string; callerId: string | number; eventId: string } | undefined {
    const [connectionId = '', asked = '', ...rest] = id.split(SEPARATOR);
    try {
      const callerId: unknown = JSON.parse(Buffer.from(asked, 'base64url').toString('utf8'));
      if (typeof callerId !== 'string' && typeof callerId !== 'number') return undefined;
      return { connectionId, callerId, eventId: rest.join(SEPARATOR) };
    } catch {
      return undefined;
    }
  }

  /** Undefined if the upstream's own id is too long. */
  private seal(owner: SessionOwner, address: UpstreamRequestId): string | undefined {
    const id = this.vault.seal(JSON.stringify(address), contextOf(owner));
    return id.length > MAX_LENGTH ? undefined : id;
  }

  /** @throws DomainError `invalid_rpc_request` */
  open(owner: SessionOwner, id: unknown): UpstreamRequestId {
    try {
      // What opens is authentic, so it holds what `seal` wrote.
      return JSON.parse(this.vault.open(String(id), contextOf(owner))) as UpstreamRequestId;
    } catch {
      throw new DomainError('invalid_rpc_request', 'Nothing was asked under this id in the session.');
    }
  }
}

/** The key is random, and known only by way of a session id that opens for one principal at one agent. */
function contextOf({ session }: SessionOwner): string {
  return `mcp-return:${session.key}`;
}
