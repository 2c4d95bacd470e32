import {
  type Composition,
  isListed,
  type ListedPlace,
  type UnavailableMember,
} from '../../../agents/composition/composition.js';
import { allowsAny, allowsNothing } from '../../../common/permissions.js';
import { TimeSlices } from '../../../common/time-slices.js';
import type { KnownTool } from '../../../upstreams/catalog/tool-list.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { sees } from './agent-permissions.js';

/** The JSON text of a tool's definition without its name, cached as long as the upstream's list. */
const texts = new WeakMap<KnownTool, string>();

/** The result of `tools/list` as JSON text. Except for the name, the definitions are what the upstreams sent. */
export async function toolListText(caller: ProxyCaller, composition: Composition): Promise<string> {
  const slices = new TimeSlices();
  const tools: string[] = [];
  const places = mayHoldAny(caller, composition) ? composition.places.values() : [];
  for (const place of places) {
    if (isListed(place) && sees(caller, place)) tools.push(textOf(place));
    if (slices.isOver) await slices.next();
  }
  const meta = unavailableMeta(caller, composition.unavailable);
  return `{"tools":[${tools.join(',')}]${meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}`}}`;
}

/** The `_meta` of a list that lacks unavailable connections; undefined if the caller is not permitted to know of any. */
export function unavailableMeta(
  { principal, connection: agent }: ProxyCaller,
  unavailable: readonly UnavailableMember[],
): Record<string, unknown> | undefined {
  if (principal === undefined) return undefined;
  const { permissions } = principal;
  const known = unavailable.filter(
    ({ connectionId }) => allowsAny(permissions, agent.id) || allowsAny(permissions, connectionId),
  );
  return known.length === 0 ? undefined : { 'mcp.service': { unavailable: known } };
}

/**
 * Can the list contain a tool for the caller? Without any grant only a public one, which is known without looking at the tools.
 */
function mayHoldAny({ principal }: ProxyCaller, { hasPublic }: Composition): boolean {
  return hasPublic || (principal !== undefined && !allowsNothing(principal.permissions));
}

/** Each agent has its own name for a tool; the rest, which can be long, is the same for all. */
function textOf({ name, tool }: ListedPlace): string {
  let rest = texts.get(tool);
  if (rest === undefined) {
    const { name: _name, ...members } = tool.definition;
    rest = JSON.stringify(members).slice(1);
    texts.set(tool, rest);
  }
  return `{"name":${JSON.stringify(name)},${rest}`;
}
