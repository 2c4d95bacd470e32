import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { AgentPartsReader, type AgentToCompose, type ListOf, type AgentParts } from './agent-parts.js';
import type { Composition } from './composition.js';
import { CompositionBuilder } from './composition-builder.js';
import { type KeptComposition, KeptCompositions } from './kept-compositions.js';
import { type MemberList, MemberLists } from './member-lists.js';
import { hash } from 'node:crypto';

/** Everything else, kept for as long as the parts are. */
const digests = new WeakMap<AgentParts, string>();

/** An edit in another process is seen within a second, so a composition is believed for a little less. */
const BELIEVED_MS = 900;
/** Upstreams whose lists change all the time make a composition cost at most one part in so many of the time. */
const PAUSE_FACTOR = 10;
/** A composition that takes less, in milliseconds, is made again at once. */
const QUICK_MS = 5;
const UNASKED: ListOf = () => Promise.resolve({ fault: 'The upstream was not asked.' });

type Listener = (connectionId: string) => void;

/**
 * The compositions of agents: one at a time is made of each agent, for all who ask meanwhile. What is less than a second old is
 * believed unless a part of it has changed in this process; after that its parts are read, and composed only if they are
 * others by now.
 */
@Injectable()
export class AgentComposition {
  private readonly live = new KeptCompositions();
  private readonly named = new KeptCompositions();
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
  of(agent: AgentToCompose): Promise<Composition> {
    return this.current(agent, this.live, (connection) => this.lists.of(connection));
  }

  /**
   * The same for one session, in which upstreams may list other tools.
   * @param inSession the list of a connection there, given its list for everyone
   */
  async inSession(
    agent: AgentToCompose,
    inSession: (connection: Connection, list: MemberList) => Promise<MemberList>,
  ): Promise<Composition> {
    await this.of(agent);
    const members = this.live.get(agent.id)?.made?.parts ?? (await this.parts.readMembers(agent));
    const parts = await this.parts.withLists(members, async (connection) =>
      inSession(connection, await this.lists.of(connection)),
    );
    const made = this.live.get(agent.id)?.made;
    return made !== undefined && isSameParts(made.parts, parts) ? made.composition : this.builder.build(parts);
  }

  /** The names that the agent's tools have, by what was last known of them: no upstream is asked. */
  namesOf(agent: AgentToCompose): Promise<Composition> {
    return this.current(agent, this.named, UNASKED);
  }

  /** Tells of every connection or agent of which something changed in this process. Returns how to stop it. */
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async current(agent: AgentToCompose, kept: KeptCompositions, listOf: ListOf): Promise<Composition> {
    const entry = kept.use(agent.id);
    const { made } = entry;
    if (made !== undefined && !made.isStale && Date.now() - made.at < BELIEVED_MS) return made.composition;
    const { making } = entry;
    if (making !== undefined && (!making.hasBegun || making.version === entry.version)) return making.work;
    const begin = async (): Promise<Composition> => {
      await making?.work.catch(() => undefined);
      const pauseMs = pauseBefore(entry);
      if (pauseMs > 0) await sleep(pauseMs);
      next.hasBegun = true;
      next.version = entry.version;
      // What was being read when this had to wait may be old by now.
      const { id, organizationId } = agent;
      return this.make(making === undefined && pauseMs <= 0 ? agent : { id, organizationId }, entry, kept, listOf);
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
    kept.resize(agent.id);
    return composition;
  }

  private forget(connectionId: string): void {
    this.live.touch(connectionId);
    this.named.touch(connectionId);
    for (const listener of this.listeners) listener(connectionId);
  }
}

function pauseBefore({ made }: KeptComposition): number {
  if (made === undefined || made.tookMs < QUICK_MS) return 0;
  return made.at + Math.min(BELIEVED_MS, made.tookMs * PAUSE_FACTOR) - Date.now();
}

/** Would the same be composed of both? Lists of tools stay the same objects for as long as they hold the same. */
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
  const agents = [...parts.agents.values()].map(({ id, connections }) => [id, connections]);
  const digest = hash('sha256', JSON.stringify([agents, [...parts.connections.values()], [...parts.lastKnown]]));
  digests.set(parts, digest);
  return digest;
}
