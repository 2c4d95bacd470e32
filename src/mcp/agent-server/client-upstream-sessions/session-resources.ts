import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../common/domain-error.js';
import type { Connection } from '../../../connections/connection.js';
import { messagesIn } from '../../../upstreams/messages/messages-in.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import { AgentPromptsAndResources } from '../offering/agent-prompts-and-resources.js';
import { mayUse } from '../offering/agent-permissions.js';
import { parseMessage } from '../../forwarding/relay/complete-answer.js';
import { headersOf, type ClientUpstreamSession, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { SessionComposition } from './session-composition.js';

const READ_TIMEOUT_MS = 10_000;
let count = 0;

/** Finds the session that a resource is in: upstreams make resources that only the session knows which made them. */
@Injectable()
export class SessionResources {
  constructor(
    private readonly members: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly offers: AgentPromptsAndResources,
    private readonly channels: UpstreamChannels,
  ) {}

  /** The session with the connection that lists the resource to everyone. */
  async listed(
    owner: SessionOwner,
    uri: string,
  ): Promise<{ isListed: boolean; session?: ClientUpstreamSession | undefined }> {
    const { sources } = await this.compositions.of(owner);
    try {
      const [source] = await this.offers.findResource(owner.caller, sources, uri);
      return { isListed: true, session: source && (await this.members.of(owner, source.connection)) };
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return { isListed: false };
      throw error;
    }
  }

  /** The session that can read a resource that nobody lists. */
  async unlisted(owner: SessionOwner, uri: string): Promise<ClientUpstreamSession | undefined> {
    const { sources } = await this.compositions.of(owner);
    for (const member of await this.members.opened(owner)) {
      const source = sources.find(({ connection }) => connection.id === member.connection.id);
      const isPermitted = source !== undefined && mayUse(owner.caller, source, 'resources');
      if (isPermitted && isUsable(member, source.connection) && (await this.canRead(member, uri))) return member;
    }
    return undefined;
  }

  private async canRead(member: ClientUpstreamSession, uri: string): Promise<boolean> {
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
function isUsable({ session }: ClientUpstreamSession, { revision }: Connection): boolean {
  return session.revision === revision;
}
