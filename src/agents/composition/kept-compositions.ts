import type { AgentParts } from './agent-parts.js';
import type { Composition } from './composition.js';

const MAX_ENTRIES = 1_000;
/** Limits the tools of all cached compositions together. */
const MAX_PLACES = 200_000;

export interface KeptComposition {
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
export class KeptCompositions {
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
