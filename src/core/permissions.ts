import { hash } from 'node:crypto';

/**
 * A permission map: resource → tool names. A resource is `self` (management tools), the id of a connection or an agent,
 * or `*` (every connection and agent, never `self`). As a tool name `*` means all tools of that resource. Absent means
 * denied.
 */
export type PermissionMap = Readonly<Record<string, readonly string[]>>;

export const SELF = 'self';
export const ANY = '*';

/** Lists up to this length are searched linearly. */
const FEW = 16;
/** Sets of longer lists, cached for the lifetime of their map. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** True if the map allows this tool of this resource. Pure; the only function that interprets wildcards. */
export function allows(map: PermissionMap, resource: string, tool: string): boolean {
  return listAllows(map, resource, tool) || (resource !== SELF && listAllows(map, ANY, tool));
}

/** True if the map allows at least one tool of this resource. */
export function allowsAny(map: PermissionMap, resource: string): boolean {
  return listOf(map, resource).length > 0 || (resource !== SELF && listOf(map, ANY).length > 0);
}

/** True if the map allows only management tools. */
export function allowsNothing(map: PermissionMap): boolean {
  return Object.entries(map).every(([resource, tools]) => resource === SELF || tools.length === 0);
}

/** True if `outer` grants everything that `inner` grants: the rule against widening permissions. */
export function isWithin(inner: PermissionMap, outer: PermissionMap): boolean {
  return Object.entries(inner).every(([resource, tools]) => {
    const held = new Set(granted(outer, resource));
    return held.has(ANY) || tools.every((tool) => held.has(tool));
  });
}

/** A map that allows what at least one of the maps allows. */
export function unionOf(a: PermissionMap, b: PermissionMap): PermissionMap {
  return Object.fromEntries(
    resourcesOf(a, b).map((name) => [name, [...new Set([...listOf(a, name), ...listOf(b, name)])]]),
  );
}

/** A map that allows exactly what both maps allow. */
export function intersectionOf(a: PermissionMap, b: PermissionMap): PermissionMap {
  return Object.fromEntries(resourcesOf(a, b).map((name) => [name, commonTools(granted(a, name), granted(b, name))]));
}

function resourcesOf(a: PermissionMap, b: PermissionMap): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

/** Every tool that the map grants on the resource, also through `*`. */
function granted(map: PermissionMap, resource: string): readonly string[] {
  const any = resource === SELF || resource === ANY ? [] : listOf(map, ANY);
  return [...new Set([...listOf(map, resource), ...any])];
}

function commonTools(a: readonly string[], b: readonly string[]): readonly string[] {
  if (a.includes(ANY)) return b;
  if (b.includes(ANY)) return a;
  const others = new Set(b);
  return a.filter((tool) => others.has(tool));
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

/**
 * The names that the list `self` of a permission map can contain, next to `*`. Process-wide, as the metadata of
 * decorators is: decorators declare their names when their file is loaded.
 */
const declared = new Set<string>();

/**
 * Declares permissions for the list `self`. `@ManagementTool` and `@RequirePermission` do it for theirs; a permission
 * that only code checks (`requirePermission`) has to be declared here, otherwise no key or role can hold it.
 */
export function declarePermissions<Name extends string>(...names: readonly Name[]): void {
  for (const name of names) declared.add(name);
}

export function isDeclaredPermission(name: string): boolean {
  return declared.has(name);
}

export function declaredPermissions(): Iterable<string> {
  return declared;
}

/** Equal for equal permissions, in every process. */
export function permissionsDigest(permissions: PermissionMap): string {
  return hash('sha1', JSON.stringify(permissions), 'base64url');
}
