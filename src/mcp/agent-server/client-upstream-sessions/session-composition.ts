import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Composition } from '../../../agents/composition/composition.js';
import type { MemberList } from '../../../agents/composition/member-lists.js';
import { withTimeout } from '../../../common/with-timeout.js';
import type { Connection } from '../../../connections/connection.js';
import type { KnownTool, ToolList } from '../../../upstreams/catalog/tool-list.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import { PATIENCE_MS, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';

const LIST_TIMEOUT_MS = 10_000;
const MAX_COMPOSED = 1_000;
const FAULT_REMEMBERED_MS = 60_000;
const MAX_SILENT = 10_000;

interface Composed {
  /** What everyone has of the agent: when that is another one, so is this. */
  readonly base: Composition;
  readonly composition: Promise<Composition>;
}

/**
 * What an agent consists of in a session whose client answers requests: upstreams list more tools to such a session. A tool
 * that they list to everyone but not there stays, and is called as everyone calls it.
 */
@Injectable()
export class SessionComposition {
  /** By the key of the caller's session. */
  private readonly composed = new LRUCache<string, Composed>({ max: MAX_COMPOSED });
  /** Upstreams that did not list their tools and are not asked again for now, by the key of the session with them. */
  private readonly silent = new LRUCache<string, true>({
    max: MAX_SILENT,
    ttl: FAULT_REMEMBERED_MS,
    ttlResolution: 1_000,
  });

  constructor(
    private readonly compositions: AgentComposition,
    private readonly members: ClientUpstreamSessions,
    private readonly tools: SessionTools,
    private readonly channels: UpstreamChannels,
  ) {}

  async of(owner: SessionOwner): Promise<Composition> {
    const { key } = owner.session;
    const agent = owner.caller.connection;
    const base = await this.compositions.of(agent);
    const known = this.composed.get(key);
    if (known?.base === base) return known.composition;
    const composition = this.compositions.inSession(agent, async (connection, everyones) => {
      const own = await this.ownList(owner, connection);
      return own === undefined ? everyones : union(everyones, own);
    });
    const composed = { base, composition };
    this.composed.set(key, composed);
    composition.catch(() => this.composed.peek(key) === composed && this.composed.delete(key));
    return composition;
  }

  /** Does the upstream list this tool to the session? If not, the shared session is the way to it. */
  async owns(owner: SessionOwner, connection: Connection, tool: string): Promise<boolean> {
    return (await this.ownList(owner, connection))?.tools.has(tool) === true;
  }

  /** Undefined when there is no session with the connection, or it lists nothing. */
  private async ownList(owner: SessionOwner, connection: Connection): Promise<ToolList | undefined> {
    if (connection.status === 'inactive') return undefined;
    const member = await this.members.of(owner, connection);
    if (member === undefined) return undefined;
    const { session } = member;
    if (this.silent.has(session.key)) return undefined;
    try {
      const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
      const options = { signal: AbortSignal.timeout(LIST_TIMEOUT_MS), caller: owner.caller.key };
      const list = this.tools.of(session.key, channel, options);
      return await withTimeout(list, PATIENCE_MS, () => this.silence(session.key));
    } catch {
      this.silence(session.key);
      return undefined;
    }
  }

  private silence(key: string): undefined {
    this.silent.set(key, true);
  }
}

/** What everyone may call is decided by the list for everyone. */
function union({ list }: MemberList, own: ToolList): MemberList {
  const tools = new Map<string, KnownTool>(list?.tools);
  for (const [name, tool] of own.tools) {
    const isPublic = list?.tools.get(name)?.isPublic === true;
    tools.set(name, tool.isPublic === isPublic ? tool : { ...tool, isPublic });
  }
  return { list: { ...own, tools, hasPublic: list?.hasPublic === true } };
}
