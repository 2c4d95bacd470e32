import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type AnswerRoom, AnswerRooms } from '../../../core/answers/answer-room.js';
import { composedAddress, isReserved } from '../../../agents/composition/resource-addresses.js';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord, parseRecord } from '../../../core/is-record.js';
import type { Connection } from '../../../connections/connection.js';
import { messagesIn } from '../../../upstreams/messages/sse-parts.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import { AgentPromptsAndResources } from '../offering/agent-prompts-and-resources.js';
import { mayUse } from '../offering/agent-permissions.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { headersOf, type ClientUpstreamSession, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { SessionComposition } from './session-composition.js';

const READ_TIMEOUT_MS = 10_000;
/** In one session, of resources that the caller knows by another address than the upstream. */
const MAX_SUBSCRIPTIONS = 1_000;
let count = 0;

/** Where a resource can be found in the caller's session. */
interface SessionPlace {
  /** True if the address leads to a connection, and not only to a resource that a session has created. */
  readonly isListed: boolean;
  /** True if only the caller's session can be expected to have it. */
  readonly isOwn?: boolean;
  /** The caller's session with that connection; absent if the upstream opens none. */
  readonly session?: ClientUpstreamSession | undefined;
  /** The upstream's own address. */
  readonly own?: string;
}

/**
 * Finds the session of a resource. Upstreams can create resources that are known only in the session that created them.
 */
@Injectable()
export class SessionResources {
  /** The addresses of the caller's subscriptions, by session with the upstream and the upstream's own address. */
  private readonly subscribed = new WeakMap<Session, LRUCache<string, string>>();

  constructor(
    private readonly upstreamSessions: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly offers: AgentPromptsAndResources,
    private readonly channels: UpstreamChannels,
    private readonly rooms: AnswerRooms,
  ) {}

  /** The place of a resource that is listed or has an address of its own. */
  async listed(owner: SessionOwner, uri: string): Promise<SessionPlace> {
    const composition = await this.compositions.compositionOf(owner);
    try {
      const { sources, uri: own } = await this.offers.findResource(owner.caller, composition, uri);
      const [source] = sources;
      if (source === undefined) return { isListed: true, own };
      const session = await this.upstreamSessions.sessionWith(owner, source.connection);
      return { isListed: true, isOwn: await this.compositions.ownsPage(owner, source.connection, own), session, own };
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return { isListed: false };
      throw error;
    }
  }

  /** Remembers by which address the caller has subscribed to a resource of the upstream. */
  noteSubscription({ session }: ClientUpstreamSession, own: string, address: string): void {
    const known = this.subscribed.get(session) ?? new LRUCache<string, string>({ max: MAX_SUBSCRIPTIONS });
    known.set(own, address);
    this.subscribed.set(session, known);
  }

  /**
   * Maps the upstream's addresses of resources to those by which the owner knows them. It asks no upstream for a list,
   * because a stream would wait for it.
   */
  async addressesFor(
    owner: SessionOwner,
    { connection, session }: ClientUpstreamSession,
  ): Promise<(uri: string) => string> {
    const composition = await this.compositions.compositionOf(owner);
    const { id: connectionId } = connection;
    return (uri) => this.subscribed.get(session)?.get(uri) ?? composedAddress({ connectionId, uri }, composition);
  }

  /** The session that can read a resource that is not listed. No upstream can answer for the address of another. */
  async unlisted(owner: SessionOwner, uri: string): Promise<ClientUpstreamSession | undefined> {
    const composition = await this.compositions.compositionOf(owner);
    if (isReserved(uri, composition)) return undefined;
    const { sources } = composition;
    for (const upstreamSession of await this.upstreamSessions.opened(owner)) {
      const source = sources.find(({ connection }) => connection.id === upstreamSession.connection.id);
      if (source === undefined || !mayUse(owner.caller, source, 'resources')) continue;
      if (!isUsable(upstreamSession, source.connection)) continue;
      if (await this.has(upstreamSession, uri, owner)) return upstreamSession;
    }
    return undefined;
  }

  /**
   * Reads a resource in the session; undefined if the upstream does not answer with it.
   * @param room for the answer
   * @throws DomainError `answer_memory_exhausted`
   */
  async read(upstreamSession: ClientUpstreamSession, uri: string, room: AnswerRoom): Promise<object | undefined> {
    const { connection, session } = upstreamSession;
    // Ids of requests must be unique in a session.
    const id = `signalbox-read-${count++}`;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'resources/read', params: { uri } }));
    try {
      const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
      const options = { signal: AbortSignal.timeout(READ_TIMEOUT_MS), headers: headersOf(upstreamSession) };
      const answer = await channel.postMessage({ body, method: 'resources/read', id: JSON.stringify(id) }, options);
      for await (const text of messagesIn(answer, connection.organizationId, room)) {
        const message = parseRecord(text);
        if (message?.['id'] === id) return isRecord(message['result']) ? message['result'] : undefined;
      }
    } catch (error) {
      if (error instanceof DomainError && error.code === 'answer_memory_exhausted') throw error;
      // An upstream that cannot be reached cannot provide the resource.
    }
    return undefined;
  }

  private async has(session: ClientUpstreamSession, uri: string, { principal }: SessionOwner): Promise<boolean> {
    const room = this.rooms.open(principal);
    try {
      return (await this.read(session, uri, room)) !== undefined;
    } finally {
      room.leave();
    }
  }
}

/** True if the connection is still the one that the session was opened with. */
function isUsable({ session }: ClientUpstreamSession, { revision }: Connection): boolean {
  return session.revision === revision;
}
