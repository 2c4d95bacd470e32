import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
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

/**
 * Finds the session of a resource. Upstreams can create resources that are known only in the session that created them.
 */
@Injectable()
export class SessionResources {
  constructor(
    private readonly upstreamSessions: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly offers: AgentPromptsAndResources,
    private readonly channels: UpstreamChannels,
  ) {}

  /** The session with the connection that lists the resource in the shared session, and the upstream's own address. */
  async listed(
    owner: SessionOwner,
    uri: string,
  ): Promise<{ isListed: boolean; session?: ClientUpstreamSession | undefined; own?: string }> {
    const composition = await this.compositions.compositionOf(owner);
    try {
      const { sources, uri: own } = await this.offers.findResource(owner.caller, composition, uri);
      const [source] = sources;
      const session = source && (await this.upstreamSessions.sessionWith(owner, source.connection));
      return { isListed: true, session, own };
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return { isListed: false };
      throw error;
    }
  }

  /** The address by which the owner knows a resource of the session's connection. */
  async addressOf(owner: SessionOwner, { connection }: ClientUpstreamSession, uri: string): Promise<string> {
    return this.offers.addressOf(await this.compositions.compositionOf(owner), connection.id, uri);
  }

  /** The session that can read a resource that is not listed. */
  async unlisted(owner: SessionOwner, uri: string): Promise<ClientUpstreamSession | undefined> {
    const { sources } = await this.compositions.compositionOf(owner);
    for (const upstreamSession of await this.upstreamSessions.opened(owner)) {
      const source = sources.find(({ connection }) => connection.id === upstreamSession.connection.id);
      const isPermitted = source !== undefined && mayUse(owner.caller, source, 'resources');
      if (isPermitted && isUsable(upstreamSession, source.connection) && (await this.canRead(upstreamSession, uri)))
        return upstreamSession;
    }
    return undefined;
  }

  private async canRead(upstreamSession: ClientUpstreamSession, uri: string): Promise<boolean> {
    const { connection, session } = upstreamSession;
    // Ids of requests must be unique in a session.
    const id = `signalbox-read-${count++}`;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'resources/read', params: { uri } }));
    try {
      const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
      const options = { signal: AbortSignal.timeout(READ_TIMEOUT_MS), headers: headersOf(upstreamSession) };
      const answer = await channel.postMessage({ body, method: 'resources/read', id: JSON.stringify(id) }, options);
      for await (const text of messagesIn(answer)) {
        const message = parseMessage(text);
        if (message?.['id'] === id) return 'result' in message;
      }
    } catch {
      // An upstream that cannot be reached cannot provide the resource.
    }
    return false;
  }
}

/** True if the connection is still the one that the session was opened with. */
function isUsable({ session }: ClientUpstreamSession, { revision }: Connection): boolean {
  return session.revision === revision;
}
