import { hash } from 'node:crypto';
import type { AgentParts } from './agent-parts.js';

/** Would the same be composed of both? Lists of tools stay the same objects for as long as they hold the same. */
export function isSameParts(a: AgentParts, b: AgentParts): boolean {
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

/** Everything else, kept for as long as the parts are. */
const digests = new WeakMap<AgentParts, string>();

function digestOf(parts: AgentParts): string {
  const known = digests.get(parts);
  if (known !== undefined) return known;
  const agents = [...parts.agents.values()].map(({ id, connections }) => [id, connections]);
  const digest = hash('sha256', JSON.stringify([agents, [...parts.connections.values()], [...parts.lastKnown]]));
  digests.set(parts, digest);
  return digest;
}
