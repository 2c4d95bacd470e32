import {
  type Composition,
  type ListedPlace,
  listedPlaces,
  type UnavailableMember,
} from '../../agents/composition/composition.js';
import { allowsAny } from '../../common/permissions.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/upstream.js';
import type { ProxyCaller } from '../proxy-caller.js';
import { sees } from './gateway-permissions.js';

/** The JSON text of a tool's definition under its composed name, kept for as long as the upstream's list is. */
const texts = new WeakMap<KnownTool, { readonly name: string; readonly text: string }>();

/** The tools of an agent that the caller may call, as MCP lists them. */
export function toolsFor(caller: ProxyCaller, composition: Composition): UpstreamTool[] {
  return listedPlaces(composition)
    .filter((place) => sees(caller, place))
    .map(({ name, tool }) => ({ ...tool.definition, name }));
}

/** The result of `tools/list` as JSON text; the definitions are what the upstreams sent, but for the name. */
export function toolListText(caller: ProxyCaller, composition: Composition): string {
  const tools = listedPlaces(composition)
    .filter((place) => sees(caller, place))
    .map(textOf);
  const meta = unavailableMeta(caller, composition.unavailable);
  return `{"tools":[${tools.join(',')}]${meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}`}}`;
}

/** What a list says of connections that it lacks; undefined when it lacks none that the caller may know of. */
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

function textOf({ name, tool }: ListedPlace): string {
  const known = texts.get(tool);
  if (known?.name === name) return known.text;
  const text = JSON.stringify({ ...tool.definition, name });
  texts.set(tool, { name, text });
  return text;
}
