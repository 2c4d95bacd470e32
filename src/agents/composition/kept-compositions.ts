import type { AgentParts } from './agent-parts.js';
import type { Composition } from './composition.js';

const MAX_ENTRIES = 1_000;
/** The tools of all of them together. */
const MAX_PLACES = 200_000;

export interface KeptComposition {
  /** Another one whenever something changed that may be a part of it. */
  version: number;
  made:
    | {
        readonly composition: Composition;
        readonly parts: AgentParts;
        /** How long it took to compose, in milliseconds. */
        readonly tookMs: number;
        /** When it was there, in milliseconds since the epoch. */
        readonly at: number;
        isStale: boolean;
      }
    | undefined;
  /** What is being made; while it has not begun, it will see everything that changes. */
  making: { version: number; hasBegun: boolean; readonly work: Promise<Composition> } | undefined;
}

/** The compositions of a process, by agent, in the order of use. */
export class KeptCompositions {
  private readonly entries = new Map<string, KeptComposition>();
  private readonly sizes = new Map<string, number>();
  private size = 0;

  get(agentId: string): KeptComposition | undefined {
    return this.entries.get(agentId);
  }

  /** The agent's, used last from now on. */
  use(agentId: string): KeptComposition {
    const entry = this.entries.get(agentId) ?? { version: 0, made: undefined, making: undefined };
    this.entries.delete(agentId);
    this.entries.set(agentId, entry);
    return entry;
  }

  /** The agent's composition is a new one: others may have to go. */
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

  /** Something about this connection or agent has changed. */
  touch(connectionId: string): void {
    for (const entry of this.entries.values()) {
      const { made } = entry;
      if (made !== undefined && entry.making === undefined && !made.composition.memberIds.has(connectionId)) continue;
      entry.version++;
      if (made !== undefined) made.isStale = true;
    }
  }
}
