/**
 * A permission map: resource → tool names. A resource is `self` (management tools), the id of a connection or an agent,
 * or `*` (every connection and agent, never `self`). As a tool name `*` means all tools of that resource. Absent means denied.
 */
export type PermissionMap = Readonly<Record<string, readonly string[]>>;

export const SELF = 'self';
export const ANY = '*';

/** Does the map allow this tool of this resource? Pure; the only place where wildcards are understood. */
export function allows(map: PermissionMap, resource: string, tool: string): boolean {
  return listAllows(map, resource, tool) || (resource !== SELF && listAllows(map, ANY, tool));
}

/** Does the map allow at least one tool of this resource? */
export function allowsAny(map: PermissionMap, resource: string): boolean {
  return listOf(map, resource).length > 0 || (resource !== SELF && listOf(map, ANY).length > 0);
}

/** Is everything that `inner` grants also granted by `outer`? The rule against widening. */
export function isWithin(inner: PermissionMap, outer: PermissionMap): boolean {
  return Object.entries(inner).every(([resource, tools]) => tools.every((tool) => allows(outer, resource, tool)));
}

function listAllows(map: PermissionMap, resource: string, tool: string): boolean {
  const tools = listOf(map, resource);
  return tools.includes(tool) || tools.includes(ANY);
}

function listOf(map: PermissionMap, resource: string): readonly string[] {
  return Object.hasOwn(map, resource) ? (map[resource] ?? []) : [];
}
