import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type Connection, accountKey, hasMemberAccounts } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import type { PartWeights } from '../../core/sharing/fair-cache.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { AgentPartsReader, type AgentToCompose } from './agent-parts.js';
import type { Composition } from './composition.js';
import { CompositionBuilder } from './composition-builder.js';
import { isSameParts, type KeptComposition, KeptCompositions, weightsOf } from './kept-compositions.js';
import type { ListOf } from './lists-within-size.js';
import { type MemberList, MemberLists } from './member-lists.js';

/** Edits of other processes must be visible within a second, so a composition is valid for a little less. */
const VALID_MS = 900;
/** Bounds the time spent on composing to one part in this many, however often upstreams change their lists. */
const PAUSE_FACTOR = 10;
/** Agents whose last known lists are read at a time. */
const MAX_READING = 2;
/** A composition that takes fewer milliseconds is rebuilt at once. */
const QUICK_MS = 5;
const NOT_CALLED: ListOf = () => Promise.resolve({ fault: 'The upstream was not called.' });

type Listener = (connectionId: string) => void;

/** The composition of an agent in one session. */
interface ComposedInSession {
  readonly composition: Composition;
  /** The weights of its parts; undefined for the composition that everyone has. */
  readonly weights?: PartWeights;
}

/**
 * The compositions of agents. Concurrent callers share one composition per agent. A composition less than a second old
 * is used unless a part of it has changed in this process. After that its parts are read, and composed again only if
 * they differ.
 */
@Injectable()
export class AgentComposition {
  private readonly live = new KeptCompositions();
  private readonly named = new KeptCompositions();
  /** Last known lists are read for one answer, and can be large. */
  private readonly reading = FairShare.ofTurns(MAX_READING);
  private readonly listeners = new Set<Listener>();

  constructor(
    private readonly builder: CompositionBuilder,
    private readonly parts: AgentPartsReader,
    private readonly lists: MemberLists,
    catalog: ToolCatalog,
    changes: ConnectionChanges,
  ) {
    const forget = (connectionId: string): void => this.forget(connectionId);
    catalog.onChange(forget);
    changes.onChange(forget);
  }

  /** @param agent a connection of type VIRTUAL */
  compositionOf(agent: AgentToCompose): Promise<Composition> {
    return this.forAccount(agent, this.live, (connection) => this.lists.listsOf(connection));
  }

  /**
   * The same for one session, in which upstreams may list different tools.
   * @param listIn the list of a connection in the session, given its list for everyone
   */
  async inSession(
    agent: AgentToCompose,
    listIn: (connection: Connection, list: MemberList) => Promise<MemberList>,
  ): Promise<ComposedInSession> {
    await this.compositionOf(agent);
    const key = this.hasMemberAccounts(agent) ? keyOf(agent) : agent.id;
    const members = this.live.get(key)?.made?.parts ?? (await this.parts.readMembers(agent));
    const parts = await this.parts.withLists(members, async (connection) =>
      listIn(connection, await this.lists.listsOf(connection)),
    );
    const made = this.live.get(key)?.made;
    if (made !== undefined && isSameParts(made.parts, parts)) return { composition: made.composition };
    const composition = await this.builder.build(parts);
    return { composition, weights: weightsOf(parts, composition) };
  }

  /** The last known names of the agent's tools; calls no upstream. */
  namesOf(agent: AgentToCompose): Promise<Composition> {
    return this.forAccount(agent, this.named, NOT_CALLED);
  }

  /** The agent's tools with their last known definitions; calls no upstream. */
  lastKnownOf(agent: AgentToCompose): Promise<Composition> {
    return this.reading.within([agent.organizationId], () =>
      this.forAccount(agent, new KeptCompositions(), (connection) => this.lists.lastKnownOf(connection)),
    );
  }

  /** Reports every connection or agent that changed in this process. Returns a function that unsubscribes. */
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** One composition serves all callers, unless the agent has connections at which each member uses an own account. */
  private async forAccount(agent: AgentToCompose, kept: KeptCompositions, listOf: ListOf): Promise<Composition> {
    const { accountUserId, ...shared } = agent;
    if (accountUserId == null) return this.current(shared, kept, listOf);
    // The parts are known once the agent was composed for everyone, which calls no upstream that needs a member's
    // account.
    if (this.hasMemberAccounts(shared)) return this.current(agent, kept, listOf);
    const composition = await this.current(shared, kept, listOf);
    const { id, organizationId } = agent;
    return this.hasMemberAccounts(shared)
      ? this.current({ id, organizationId, accountUserId }, kept, listOf)
      : composition;
  }

  private hasMemberAccounts({ id }: Pick<AgentToCompose, 'id'>): boolean {
    const parts = (this.live.get(id) ?? this.named.get(id))?.made?.parts;
    return parts !== undefined && [...parts.connections.values()].some(hasMemberAccounts);
  }

  private async current(agent: AgentToCompose, kept: KeptCompositions, listOf: ListOf): Promise<Composition> {
    const entry = kept.use(keyOf(agent), agent.organizationId);
    const { made } = entry;
    if (made !== undefined && !made.isStale && Date.now() - made.at < VALID_MS) return made.composition;
    const { making } = entry;
    if (making !== undefined && (!making.hasBegun || making.version === entry.version)) return making.work;
    const begin = async (): Promise<Composition> => {
      await making?.work.catch(() => undefined);
      const pauseMs = pauseBefore(entry);
      if (pauseMs > 0) await sleep(pauseMs);
      next.hasBegun = true;
      next.version = entry.version;
      // Reads that began before this wait may be outdated.
      const { id, organizationId, accountUserId } = agent;
      return this.make(
        making === undefined && pauseMs <= 0 ? agent : { id, organizationId, accountUserId },
        entry,
        kept,
        listOf,
      );
    };
    const next = { version: entry.version, hasBegun: false, work: begin() };
    entry.making = next;
    const over = (): void => {
      if (entry.making === next) entry.making = undefined;
    };
    next.work.then(over, over);
    return next.work;
  }

  private async make(
    agent: AgentToCompose,
    entry: KeptComposition,
    kept: KeptCompositions,
    listOf: ListOf,
  ): Promise<Composition> {
    const { version } = entry;
    const parts = await this.parts.read(agent, listOf);
    const startedAt = performance.now();
    const known = entry.made;
    const composition =
      known !== undefined && isSameParts(known.parts, parts) ? known.composition : await this.builder.build(parts);
    const tookMs = composition === known?.composition ? known.tookMs : performance.now() - startedAt;
    const made = { composition, parts, tookMs, at: Date.now(), isStale: entry.version !== version };
    kept.complete(keyOf(agent), agent.organizationId, entry, made);
    return composition;
  }

  private forget(connectionId: string): void {
    this.live.touch(connectionId);
    this.named.touch(connectionId);
    for (const listener of this.listeners) listener(connectionId);
  }
}

function keyOf({ id, accountUserId }: AgentToCompose): string {
  return accountUserId == null ? id : accountKey({ id, accountUserId });
}

function pauseBefore({ made }: KeptComposition): number {
  if (made === undefined || made.tookMs < QUICK_MS) return 0;
  return made.at + Math.min(VALID_MS, made.tookMs * PAUSE_FACTOR) - Date.now();
}
