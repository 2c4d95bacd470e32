import { canonicalText } from '../../core/json/canonical-text.js';
import { allows, ANY, type PermissionMap } from '../../core/permissions.js';
import { type AgentConnection, type ApprovalRule, MAX_AGENTS, type SelectedTool, toolOf } from './agent.js';

/** The selected tools of one connection; null selects all. */
export type Selection = Pick<AgentConnection, 'connectionId' | 'selectedTools'>;

/** What an agent selects of a connection, which can itself be an agent. */
export type NestedSelection = Selection & { readonly isAgent: boolean };

/** Returns the selections of the agents among these connections, by agent id. */
type ReadNested = (connectionIds: readonly string[]) => Promise<ReadonlyMap<string, readonly NestedSelection[]>>;

/** Number of agents per read; their selections are large and not cached. */
const READ_AT_ONCE = 20;

/**
 * What an edit adds to the tools that an agent can call. A new prefix renames tools and so changes what grants under
 * the agent's id mean: it counts as newly selecting all tools of that connection. So does a rule that asks for fewer
 * approvals. A tool that the edit dresses differently counts as newly selected.
 */
export function addedSelections(before: readonly AgentConnection[], after: readonly AgentConnection[]): Selection[] {
  const stored = new Map(before.map((member) => [member.connectionId, member]));
  return after.flatMap((member): Selection[] => {
    const { connectionId, selectedTools, prefix } = member;
    const known = stored.get(connectionId);
    if (known === undefined || known.prefix !== prefix || isLoosened(known.approval, member.approval)) return [member];
    if (selectedTools === null) return known.selectedTools === null ? [] : [member];
    const kept = new Set(known.selectedTools?.map(canonicalText));
    const isKept = (selected: SelectedTool): boolean =>
      known.selectedTools === null ? typeof selected === 'string' : kept.has(canonicalText(selected));
    const added = selectedTools.filter((selected) => !isKept(selected));
    return added.length === 0 ? [] : [{ connectionId, selectedTools: added }];
  });
}

/** True if a call that needed an approval before the change needs none after it. */
function isLoosened(before: ApprovalRule, after: ApprovalRule): boolean {
  if (before === 'none' || after === 'all' || before === after) return false;
  if (typeof before === 'string' || typeof after === 'string') return true;
  return !before.every((tool) => after.includes(tool));
}

/** The selections that include tools which the holder of the permissions cannot call. */
export async function missingGrants(
  permissions: PermissionMap,
  needed: readonly Selection[],
  read: ReadNested,
): Promise<Selection[]> {
  const ungranted = needed.filter((selection) => !isGranted(permissions, selection));
  const ids = ungranted.map(({ connectionId }) => connectionId);
  const open = await openMembers(permissions, ids, read);
  const verdicts = new Map<string, boolean>();
  return ungranted.filter(({ connectionId }) => !isCovered(connectionId, open, verdicts));
}

function isGranted(permissions: PermissionMap, { connectionId, selectedTools }: Selection): boolean {
  return (selectedTools ?? [ANY]).every((selected) => allows(permissions, connectionId, toolOf(selected)));
}

/**
 * An agent's tools are granted under the agent's id, or by grants on everything that the agent selects. Returns, for
 * each agent reachable without a grant, the nested agents that decide for it. Anything absent from the result is not
 * covered: connections, agents with a connection that is not granted, and agents beyond the limit of one agent.
 */
async function openMembers(
  permissions: PermissionMap,
  ids: readonly string[],
  read: ReadNested,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const open = new Map<string, readonly string[]>();
  const reached = new Set(ids);
  const waiting = [...reached];
  for (let seen = 0; waiting.length > 0 && seen < MAX_AGENTS;) {
    const agents = await read(waiting.splice(0, READ_AT_ONCE));
    seen += agents.size;
    for (const [id, members] of agents) {
      const ungranted = members.filter((member) => !isGranted(permissions, member));
      if (!ungranted.every(({ isAgent }) => isAgent)) continue;
      const inner = ungranted.map(({ connectionId }) => connectionId);
      open.set(id, inner);
      waiting.push(...inner.filter((one) => !reached.has(one)));
      for (const one of inner) reached.add(one);
    }
  }
  return open;
}

/** Each agent is checked once, however many paths lead to it. */
function isCovered(id: string, open: ReadonlyMap<string, readonly string[]>, verdicts: Map<string, boolean>): boolean {
  const known = verdicts.get(id);
  if (known !== undefined) return known;
  // Saving refuses cycles; this check only has to terminate.
  verdicts.set(id, false);
  const verdict = open.get(id)?.every((inner) => isCovered(inner, open, verdicts)) ?? false;
  verdicts.set(id, verdict);
  return verdict;
}
