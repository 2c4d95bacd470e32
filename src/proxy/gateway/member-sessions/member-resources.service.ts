import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../common/domain-error.js';
import type { Connection } from '../../../connections/connection.js';
import { messagesIn } from '../../../upstreams/channel/messages-in.js';
import { UpstreamChannels } from '../../../upstreams/channel/upstream-channels.service.js';
import { sessionAtUpstream } from '../../exchange/sender.service.js';
import { GatewayOffers } from '../gateway-offers.service.js';
import { mayUse } from '../gateway-permissions.js';
import { parseMessage } from '../../relay/complete-answer.js';
import { headersOf, type MemberSession, type SessionOwner } from './member-session.js';
import { MemberSessions } from './member-sessions.service.js';
import { SessionComposition } from './session-composition.service.js';

const READ_TIMEOUT_MS = 10_000;
let count = 0;

/** Finds the session that a resource is in: upstreams make resources that only the session knows which made them. */
@Injectable()
export class MemberResources {
  constructor(
    private readonly members: MemberSessions,
    private readonly compositions: SessionComposition,
    private readonly offers: GatewayOffers,
    private readonly channels: UpstreamChannels,
  ) {}

  /** The session with the connection that lists the resource to everyone. */
  async listed(owner: SessionOwner, uri: string): Promise<{ isListed: boolean; member?: MemberSession | undefined }> {
    const { sources } = await this.compositions.of(owner);
    try {
      const [source] = await this.offers.findResource(owner.caller, sources, uri);
      return { isListed: true, member: source && (await this.members.of(owner, source.connection)) };
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return { isListed: false };
      throw error;
    }
  }

  /** The session that can read a resource that nobody lists. */
  async unlisted(owner: SessionOwner, uri: string): Promise<MemberSession | undefined> {
    const { sources } = await this.compositions.of(owner);
    for (const member of await this.members.opened(owner)) {
      const source = sources.find(({ connection }) => connection.id === member.connection.id);
      const isPermitted = source !== undefined && mayUse(owner.caller, source, 'resources');
      if (isPermitted && isUsable(member, source.connection) && (await this.canRead(member, uri))) return member;
    }
    return undefined;
  }

  private async canRead(member: MemberSession, uri: string): Promise<boolean> {
    const { connection, session } = member;
    // No two requests in a session may have the same.
    const id = `signalbox-read-${count++}`;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'resources/read', params: { uri } }));
    try {
      const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
      const options = { signal: AbortSignal.timeout(READ_TIMEOUT_MS), headers: headersOf(member) };
      const answer = await channel.post({ body, method: 'resources/read', id: JSON.stringify(id) }, options);
      for await (const text of messagesIn(answer)) {
        const message = parseMessage(text);
        if (message?.['id'] === id) return 'result' in message;
      }
    } catch {
      // Whoever cannot be asked has it not.
    }
    return false;
  }
}

/** Is the connection still the one that the session was opened with? */
function isUsable({ session }: MemberSession, { revision }: Connection): boolean {
  return session.revision === revision;
}
