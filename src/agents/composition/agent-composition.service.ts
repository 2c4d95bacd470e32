import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.service.js';
import type { Composition } from './composition.js';
import { type AgentToCompose, CompositionBuilder } from './composition-builder.js';
import { type MemberList, MemberLists } from './member-lists.js';

/** An edit in another process is seen within a second, so a composition is believed for a little less. */
const BELIEVED_MS = 900;
const MAX_ENTRIES = 1_000;

interface Entry {
  readonly startedAt: number;
  readonly composition: Promise<Composition>;
  /** Undefined while it is being built. */
  memberIds?: ReadonlySet<string>;
}

type Listener = (connectionId: string) => void;

/** The compositions of agents: kept for less than a second, and given up as soon as a part of them changes in this process. */
@Injectable()
export class AgentComposition {
  private readonly entries = new Map<string, Entry>();
  private readonly listeners = new Set<Listener>();

  constructor(
    private readonly builder: CompositionBuilder,
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
    const now = Date.now();
    const known = this.entries.get(agent.id);
    if (known !== undefined && now - known.startedAt < BELIEVED_MS) return known.composition;
    if (this.entries.size >= MAX_ENTRIES) this.entries.clear();
    const composition = this.builder.build(agent, (connection) => this.lists.of(connection));
    const entry: Entry = { startedAt: now, composition };
    this.entries.set(agent.id, entry);
    composition.then(
      ({ memberIds }) => (entry.memberIds = memberIds),
      () => this.entries.get(agent.id) === entry && this.entries.delete(agent.id),
    );
    return composition;
  }

  /**
   * The same for one session, in which upstreams may list other tools.
   * @param inSession the list of a connection there, given its list for everyone
   */
  async inSession(
    agent: AgentToCompose,
    inSession: (connection: Connection, list: MemberList) => Promise<MemberList>,
  ): Promise<Composition> {
    return this.builder.build(agent, async (connection) => inSession(connection, await this.lists.of(connection)));
  }

  /** The names that the agent's tools have, by what was last known of them: no upstream is asked. */
  namesOf(agent: AgentToCompose): Promise<Composition> {
    return this.builder.build(agent, () => Promise.resolve({ fault: 'The upstream was not asked.' }));
  }

  /** Tells of every connection or agent of which something changed in this process. Returns how to stop it. */
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private forget(connectionId: string): void {
    for (const [agentId, { memberIds }] of this.entries) {
      if (memberIds === undefined || memberIds.has(connectionId)) this.entries.delete(agentId);
    }
    for (const listener of this.listeners) listener(connectionId);
  }
}
