/**
 * A permission map: resource → tool names. A resource is `self` (management tools), the id of a connection or an agent,
 * or `*` (every connection and agent, never `self`). As a tool name `*` means all tools of that resource. Absent means denied.
 */
export type PermissionMap = Readonly<Record<string, readonly string[]>>;

export const SELF = 'self';
export const ANY = '*';

/** Lists up to this length are searched linearly. */
const FEW = 16;
/** Sets of longer lists, cached for the lifetime of their map. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Does the map allow this tool of this resource? Pure; the only function that interprets wildcards. */
export function allows(map: PermissionMap, resource: string, tool: string): boolean {
  return listAllows(map, resource, tool) || (resource !== SELF && listAllows(map, ANY, tool));
}

/** Does the map allow at least one tool of this resource? */
export function allowsAny(map: PermissionMap, resource: string): boolean {
  return listOf(map, resource).length > 0 || (resource !== SELF && listOf(map, ANY).length > 0);
}

/** Does the map allow only management tools? */
export function allowsNothing(map: PermissionMap): boolean {
  return Object.entries(map).every(([resource, tools]) => resource === SELF || tools.length === 0);
}

/** Does `outer` grant everything that `inner` grants? The rule against widening permissions. */
export function isWithin(inner: PermissionMap, outer: PermissionMap): boolean {
  return Object.entries(inner).every(([resource, tools]) => {
    const granted = new Set([...listOf(outer, resource), ...(resource === SELF ? [] : listOf(outer, ANY))]);
    return granted.has(ANY) || tools.every((tool) => granted.has(tool));
  });
}

function listAllows(map: PermissionMap, resource: string, tool: string): boolean {
  const tools = listOf(map, resource);
  if (tools.length > FEW) return setOf(tools).has(tool) || setOf(tools).has(ANY);
  return tools.includes(tool) || tools.includes(ANY);
}

function setOf(tools: readonly string[]): ReadonlySet<string> {
  const known = sets.get(tools);
  if (known !== undefined) return known;
  const set = new Set(tools);
  sets.set(tools, set);
  return set;
}

function listOf(map: PermissionMap, resource: string): readonly string[] {
  return Object.hasOwn(map, resource) ? (map[resource] ?? []) : [];
}
