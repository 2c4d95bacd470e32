import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Composition } from '../../../agents/composition/composition.js';
import type { MemberList } from '../../../agents/composition/member-lists.js';
import { FairCache } from '../../../core/sharing/fair-cache.js';
import { withTimeout } from '../../../core/with-timeout.js';
import type { Connection } from '../../../connections/connection.js';
import { definitionSize, type KnownTool, type ToolList } from '../../../upstreams/catalog/tool-list.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import { PATIENCE_MS, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';

const LIST_TIMEOUT_MS = 10_000;
const MAX_COMPOSED = 1_000;
/** Of all compositions with lists of their sessions, in characters (`weightsOf`). */
const MAX_WEIGHT = 32 * 1024 * 1024;
const RETRY_AFTER_MS = 60_000;
const MAX_FAILED = 10_000;

interface Composed {
  /**
   * The agent's composition for all callers. If it changes, this composition is outdated. A session without use must
   * not keep it.
   */
  base: WeakRef<Composition>;
  making: Promise<Composition> | undefined;
  /** Undefined if the session has none of its own. */
  own: Composition | undefined;
}

/**
 * The composition of an agent in a session whose client answers requests. Upstreams can list more tools to such a
 * session. A tool that is listed only in the shared session is kept and called there.
 */
@Injectable()
export class SessionComposition {
  /** By the caller's session key, until the session ends. */
  private readonly composed = new FairCache<Composed>({
    maxEntries: MAX_COMPOSED,
    maxWeight: MAX_WEIGHT,
    isInUse: ({ making }) => making !== undefined,
  });
  /**
   * Upstreams whose tool list is not requested again for a while after a failure, by the key of the session with the
   * upstream.
   */
  private readonly failed = new LRUCache<string, true>({ max: MAX_FAILED, ttl: RETRY_AFTER_MS, ttlResolution: 1_000 });

  constructor(
    private readonly compositions: AgentComposition,
    private readonly upstreamSessions: ClientUpstreamSessions,
    private readonly tools: SessionTools,
  ) {
    upstreamSessions.onEnd((key) => this.composed.delete(key));
  }

  /** The composition of the caller's session; without an owner, the composition that all callers share. */
  compositionFor({ connection }: ProxyCaller, owner: SessionOwner | undefined): Promise<Composition> {
    return owner ? this.compositionOf(owner) : this.compositions.compositionOf(connection);
  }

  async compositionOf(owner: SessionOwner): Promise<Composition> {
    const { key } = owner.session;
    const base = await this.compositions.compositionOf(owner.caller.connection);
    const known = this.composed.use(key);
    if (known?.base.deref() === base) return known.making ?? known.own ?? base;
    const composed: Composed = { base: new WeakRef(base), making: undefined, own: undefined };
    this.composed.set(key, owner.principal.organization.id, composed);
    composed.making = this.compose(owner, composed);
    return composed.making;
  }

  private async compose(owner: SessionOwner, composed: Composed): Promise<Composition> {
    const { key } = owner.session;
    // The session can end meanwhile.
    const isKept = (): boolean => this.composed.get(key) === composed;
    try {
      const { composition, weights } = await this.compositions.inSession(
        owner.caller.connection,
        async (connection, sharedList) => {
          const own = await this.ownList(owner, connection);
          return own === undefined ? sharedList : union(sharedList, own);
        },
      );
      composed.making = undefined;
      if (weights === undefined) composed.base = new WeakRef(composition);
      else composed.own = composition;
      if (isKept()) this.composed.set(key, owner.principal.organization.id, composed, weights);
      return composition;
    } catch (error) {
      if (isKept()) this.composed.delete(key);
      throw error;
    }
  }

  /** True if the upstream lists this tool in the caller's session. If not, it is called in the shared session. */
  async owns(owner: SessionOwner, connection: Connection, tool: string): Promise<boolean> {
    return (await this.ownList(owner, connection))?.tools.has(tool) === true;
  }

  /** True if this is the page of a tool that the upstream lists in the caller's session, and not in the shared one. */
  async ownsPage(owner: SessionOwner, { id }: Connection, uri: string): Promise<boolean> {
    const isIn = ({ pages }: Composition): boolean => pages.get(uri)?.has(id) === true;
    if (!isIn(await this.compositionOf(owner))) return false;
    return !isIn(await this.compositions.compositionOf(owner.caller.connection));
  }

  /** Undefined if there is no session with the connection, or listing its tools failed. */
  private async ownList(owner: SessionOwner, connection: Connection): Promise<ToolList | undefined> {
    if (connection.status === 'inactive') return undefined;
    const upstreamSession = await this.upstreamSessions.sessionWith(owner, connection);
    if (upstreamSession === undefined) return undefined;
    const { session } = upstreamSession;
    if (this.failed.has(session.key)) return undefined;
    try {
      const options = { signal: AbortSignal.timeout(LIST_TIMEOUT_MS), caller: owner.caller.key };
      const list = this.tools.toolsOf(connection, sessionAtUpstream({ kind: 'session', session }), options);
      return await withTimeout(list, PATIENCE_MS, () => this.noteFailure(session.key));
    } catch {
      this.noteFailure(session.key);
      return undefined;
    }
  }

  private noteFailure(key: string): undefined {
    this.failed.set(key, true);
  }
}

/** The shared list decides which tools are public. If the session lists the same tools, the shared list is returned. */
function union(shared: MemberList, own: ToolList): MemberList {
  const { list } = shared;
  if (list?.digest === own.digest) return shared;
  const tools = new Map<string, KnownTool>(list?.tools);
  let { size } = own;
  for (const { name, definition } of list?.tools.values() ?? []) {
    if (!own.tools.has(name)) size += definitionSize(definition);
  }
  for (const [name, tool] of own.tools) {
    const isPublic = list?.tools.get(name)?.isPublic === true;
    tools.set(name, tool.isPublic === isPublic ? tool : { ...tool, isPublic });
  }
  return { list: { ...own, tools, size, hasPublic: list?.hasPublic === true } };
}
