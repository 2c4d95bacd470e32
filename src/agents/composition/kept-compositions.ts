import { hash } from 'node:crypto';
import { FairCache, type PartWeights } from '../../core/sharing/fair-cache.js';
import { definitionSize } from '../../upstreams/catalog/tool-list.js';
import type { AgentParts } from './agent-parts.js';
import type { Composition } from './composition.js';

const MAX_ENTRIES = 1_000;
/** Of all cached compositions, in characters (`weightsOf`). */
const MAX_WEIGHT = 64 * 1024 * 1024;
/** What a place of a composition takes in addition to its tool, in characters. */
const PLACE_WEIGHT = 256;

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

/** The cached compositions of a process, by agent. */
export class KeptCompositions {
  private readonly entries = new FairCache<KeptComposition>({
    maxEntries: MAX_ENTRIES,
    maxWeight: MAX_WEIGHT,
    isInUse: ({ making }) => making !== undefined,
  });

  get(key: string): KeptComposition | undefined {
    return this.entries.get(key);
  }

  /** The agent's composition, now the most recently used. */
  use(key: string, organizationId: string): KeptComposition {
    const known = this.entries.use(key);
    if (known !== undefined) return known;
    const entry = { version: 0, made: undefined, making: undefined };
    this.entries.set(key, organizationId, entry);
    return entry;
  }

  /** Stores the new composition of an entry, and evicts others if needed. */
  complete(key: string, organizationId: string, entry: KeptComposition, made: KeptComposition['made'] & object): void {
    entry.made = made;
    this.entries.set(key, organizationId, entry, weightsOf(made.parts, made.composition));
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

/** Cached for the lifetime of the composition: parts that lead to the same one weigh the same. */
const weightsByComposition = new WeakMap<Composition, PartWeights>();

/**
 * The memory that a composition and its parts take, in characters: each list of tools, which compositions can have in
 * common, and what belongs to the composition alone.
 */
export function weightsOf(parts: AgentParts, composition: Composition): PartWeights {
  const known = weightsByComposition.get(composition);
  if (known !== undefined) return known;
  const weights = new Map<object, number>();
  weightsByComposition.set(composition, weights);
  for (const { list } of parts.lists.values()) if (list !== undefined) weights.set(list.tools, list.size);
  let own = composition.places.size * PLACE_WEIGHT + settingsOf(parts).size;
  for (const { tool, dressing } of composition.places.values()) {
    if (dressing !== undefined && tool !== undefined) own += definitionSize(tool.definition);
  }
  return weights.set(composition, own);
}

/** True if both lead to the same composition. Lists of tools stay the same objects while their content is unchanged. */
export function isSameParts(a: AgentParts, b: AgentParts): boolean {
  return isSameLists(a.lists, b.lists) && settingsOf(a).digest === settingsOf(b).digest;
}

function isSameLists(a: AgentParts['lists'], b: AgentParts['lists']): boolean {
  if (a.size !== b.size) return false;
  for (const [id, { list, fault }] of a) {
    const other = b.get(id);
    if (other === undefined || other.list?.tools !== list?.tools || other.fault !== fault) return false;
  }
  return true;
}

/** All parts other than lists. */
interface Settings {
  /** Of those that a composition depends on. */
  readonly digest: string;
  /** In characters. */
  readonly size: number;
}

/** Cached for the lifetime of the parts. */
const settings = new WeakMap<AgentParts, Settings>();

function settingsOf(parts: AgentParts): Settings {
  const known = settings.get(parts);
  if (known !== undefined) return known;
  let size = 0;
  const agents = [...parts.agents.values()].map((agent) => {
    const { id, connections, toolMode, pinnedTools, exposeRun, description, outputSchema, askTimeoutS } = agent;
    size += [agent.instructions, description, outputSchema].reduce((sum, text) => sum + (text?.length ?? 0), 0);
    return [id, connections, toolMode, pinnedTools, exposeRun && [description, outputSchema, askTimeoutS]];
  });
  // What a pin changes shows in the lists.
  const connections = [...parts.connections.values()].map(({ pinEpoch: _pinEpoch, ...connection }) => connection);
  const text = JSON.stringify([agents, connections, [...parts.lastKnown]]);
  const made = { digest: hash('sha256', text), size: size + text.length };
  settings.set(parts, made);
  return made;
}
