import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { accountKey, hasMemberAccounts } from '../../connections/connection-account.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { AgentPartsReader, type AgentToCompose, type ListOf, type AgentParts } from './agent-parts.js';
import type { Composition } from './composition.js';
import { CompositionBuilder } from './composition-builder.js';
import { type MemberList, MemberLists } from './member-lists.js';
import { hash } from 'node:crypto';

const MAX_ENTRIES = 1_000;
/** Limits the tools of all cached compositions together. */
const MAX_PLACES = 200_000;

interface KeptComposition {
  /** Changes whenever a possible part of the composition changes. */
  version: number;
  made:
    | {
        readonly composition: Composition;
        readonly parts: AgentParts;
        /** How long it took to compose, in milliseconds. */
        readonly tookMs: number;
        /** When it was completed, in milliseconds since the epoch. */
        readonly at: number;
        isStale: boolean;
      }
    | undefined;
  /** The composition in progress; until it begins, it sees every change. */
  making: { version: number; hasBegun: boolean; readonly work: Promise<Composition> } | undefined;
}

/** The cached compositions of a process, by agent, least recently used first. */
class KeptCompositions {
  private readonly entries = new Map<string, KeptComposition>();
  private readonly sizes = new Map<string, number>();
  private size = 0;

  get(agentId: string): KeptComposition | undefined {
    return this.entries.get(agentId);
  }

  /** The agent's composition, now the most recently used. */
  use(agentId: string): KeptComposition {
    const entry = this.entries.get(agentId) ?? { version: 0, made: undefined, making: undefined };
    this.entries.delete(agentId);
    this.entries.set(agentId, entry);
    return entry;
  }

  /** Stores the agent's new composition and evicts others if needed. */
  resize(agentId: string): void {
    const added = this.entries.get(agentId)?.made?.composition.places.size;
    if (added === undefined) return;
    this.size += added - (this.sizes.get(agentId) ?? 0);
    this.sizes.set(agentId, added);
    for (const [oldest, { making }] of this.entries) {
      if (this.size <= MAX_PLACES && this.entries.size <= MAX_ENTRIES) return;
      if (oldest === agentId || making !== undefined) continue;
      this.size -= this.sizes.get(oldest) ?? 0;
      this.sizes.delete(oldest);
      this.entries.delete(oldest);
    }
  }

  /** Marks a change of this connection or agent. */
  touch(connectionId: string): void {
    for (const entry of this.entries.values()) {
      const { made } = entry;
      if (made !== undefined && entry.making === undefined && !made.composition.memberIds.has(connectionId)) continue;
      entry.version++;
      if (made !== undefined) made.isStale = true;
    }
  }
}

/** The digest of all parts other than lists, cached for the lifetime of the parts. */
const digests = new WeakMap<AgentParts, string>();

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
   * @param inSession the list of a connection in the session, given its list for everyone
   */
  async inSession(
    agent: AgentToCompose,
    inSession: (connection: Connection, list: MemberList) => Promise<MemberList>,
  ): Promise<Composition> {
    await this.compositionOf(agent);
    const key = this.hasMemberAccounts(agent) ? keyOf(agent) : agent.id;
    const members = this.live.get(key)?.made?.parts ?? (await this.parts.readMembers(agent));
    const parts = await this.parts.withLists(members, async (connection) =>
      inSession(connection, await this.lists.listsOf(connection)),
    );
    const made = this.live.get(key)?.made;
    return made !== undefined && isSameParts(made.parts, parts) ? made.composition : this.builder.build(parts);
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
    return parts !== undefined && holdsMemberAccounts(parts);
  }

  private async current(agent: AgentToCompose, kept: KeptCompositions, listOf: ListOf): Promise<Composition> {
    const entry = kept.use(keyOf(agent));
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
    entry.made = { composition, parts, tookMs, at: Date.now(), isStale: entry.version !== version };
    kept.resize(keyOf(agent));
    return composition;
  }

  private forget(connectionId: string): void {
    this.live.touch(connectionId);
    this.named.touch(connectionId);
    for (const listener of this.listeners) listener(connectionId);
  }
}

/** By the parts, which do not change. */
const memberAccounts = new WeakMap<AgentParts, boolean>();

function holdsMemberAccounts(parts: AgentParts): boolean {
  let holds = memberAccounts.get(parts);
  if (holds === undefined) {
    holds = [...parts.connections.values()].some(hasMemberAccounts);
    memberAccounts.set(parts, holds);
  }
  return holds;
}

function keyOf({ id, accountUserId }: AgentToCompose): string {
  return accountUserId == null ? id : accountKey({ id, accountUserId });
}

function pauseBefore({ made }: KeptComposition): number {
  if (made === undefined || made.tookMs < QUICK_MS) return 0;
  return made.at + Math.min(VALID_MS, made.tookMs * PAUSE_FACTOR) - Date.now();
}

/** True if both lead to the same composition. Lists of tools stay the same objects while their content is unchanged. */
function isSameParts(a: AgentParts, b: AgentParts): boolean {
  return isSameLists(a.lists, b.lists) && digestOf(a) === digestOf(b);
}

function isSameLists(a: AgentParts['lists'], b: AgentParts['lists']): boolean {
  if (a.size !== b.size) return false;
  for (const [id, { list, fault }] of a) {
    const other = b.get(id);
    if (other === undefined || other.list?.tools !== list?.tools || other.fault !== fault) return false;
  }
  return true;
}

function digestOf(parts: AgentParts): string {
  const known = digests.get(parts);
  if (known !== undefined) return known;
  const agents = [...parts.agents.values()].map((agent) => {
    const { id, connections, toolMode, pinnedTools, exposeRun, description, outputSchema, askTimeoutS } = agent;
    return [id, connections, toolMode, pinnedTools, exposeRun && [description, outputSchema, askTimeoutS]];
  });
  // What a pin changes shows in the lists.
  const connections = [...parts.connections.values()].map(({ pinEpoch: _pinEpoch, ...connection }) => connection);
  const digest = hash('sha256', JSON.stringify([agents, connections, [...parts.lastKnown]]));
  digests.set(parts, digest);
  return digest;
}
