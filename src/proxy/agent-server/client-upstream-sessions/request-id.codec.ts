import { Injectable } from '@nestjs/common';
import { SealedRequestIds } from '../../forwarding/session/sealed-request-ids.js';
import type { ClientUpstreamSession, SessionOwner } from './client-upstream-session.js';
import { dataOf, withData } from '../../../upstreams/messages/sse-parts.js';
import { parseRecord } from '../../../core/is-record.js';
import { isUpdate, renameUpdate } from '../offering/renamed-resource.js';

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

/** Maps the ids in the messages of an agent's upstream to those that the agent's caller sees. */
export interface EventIdRewriter {
  /** Maps the id of an upstream's request; undefined if the request cannot be relayed. */
  request(id: string | number): string | undefined;
  /** Maps the id of an event, by which a stream can be resumed; undefined to omit it. */
  event(id: string): string | undefined;
  /** Maps the address of a resource that has changed; absent if it stays. */
  readonly address?: (uri: string) => string;
  /** The id of the only request of the caller that this stream answers; undefined if it answers none. */
  readonly answers: string | number | undefined;
}

/** Not `^` and `$`, which also match at U+2028 in the data. */
const EVENT_ID = /(?<=^|[\r\n])id: ?([^\r\n]*)/;

/**
 * Rewrites the ids of an event for the caller, and the address of a resource that has changed. Undefined for a request
 * that cannot be relayed, and for an answer to a request that this upstream did not receive: the caller tells answers
 * apart by the id alone, and could take it for another upstream's.
 */
export function rewriteEventIds(event: Buffer, rewriter: EventIdRewriter): Buffer | undefined {
  const data = dataOf(event);
  const message = data === undefined || data === '' ? undefined : parseRecord(data);
  // Old clients accept batches, whose messages are not checked here.
  if (data?.trimStart().startsWith('[') === true) return undefined;
  const id = message?.['id'];
  if (message === undefined || (typeof id !== 'string' && typeof id !== 'number')) {
    const { address } = rewriter;
    const renamed = message && address && isUpdate(message) ? renameUpdate(event, message, address) : event;
    return withEventId(renamed, rewriter);
  }
  if (!('method' in message)) return id === rewriter.answers ? withEventId(event, rewriter) : undefined;
  const requestId = rewriter.request(id);
  if (requestId === undefined) return undefined;
  return withEventId(withData(event, JSON.stringify({ ...message, id: requestId })), rewriter);
}

function withEventId(event: Buffer, rewriter: EventIdRewriter): Buffer {
  const text = event.toString('utf8');
  const id = EVENT_ID.exec(text)?.[1];
  if (id === undefined) return event;
  const named = rewriter.event(id);
  return Buffer.from(text.replace(EVENT_ID, () => (named === undefined ? ': ' : `id: ${named}`)));
}
