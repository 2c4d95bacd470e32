import type { PermissionMap } from '../session/session.js';

/** The resource of management tools. */
export const SELF = 'self';
/** As a tool: all tools. As a resource: every connection and agent. */
export const ANY = '*';

export function toolsOf(permissions: PermissionMap, resource: string): readonly string[] {
  return permissions[resource] ?? [];
}

/** How much of these names the map grants. */
export function heldOf(
  permissions: PermissionMap,
  resource: string,
  names: readonly string[],
): 'all' | 'some' | 'none' {
  const held = toolsOf(permissions, resource);
  if (held.includes(ANY)) return 'all';
  const count = names.filter((name) => held.includes(name)).length;
  if (count === 0) return 'none';
  return count === names.length ? 'all' : 'some';
}

/** A map that grants these names too. */
export function grant(permissions: PermissionMap, resource: string, names: readonly string[]): PermissionMap {
  return { ...permissions, [resource]: [...new Set([...toolsOf(permissions, resource), ...names])] };
}

/** A map that does not grant these names; a resource without tools is left out. */
export function withdraw(permissions: PermissionMap, resource: string, names: readonly string[]): PermissionMap {
  return replace(
    permissions,
    resource,
    toolsOf(permissions, resource).filter((name) => !names.includes(name)),
  );
}

/** A map with exactly these tools of a resource; a resource without tools is left out. */
export function replace(permissions: PermissionMap, resource: string, names: readonly string[]): PermissionMap {
  const { [resource]: _, ...others } = permissions;
  return names.length === 0 ? others : { ...permissions, [resource]: names };
}

/** A map with what was granted and withdrawn in a form. The rest is as it is stored by now. */
export function withChanges(stored: PermissionMap, start: PermissionMap, chosen: PermissionMap): PermissionMap {
  const resources = [...new Set([...Object.keys(start), ...Object.keys(chosen)])];
  return resources.reduce((map, resource) => {
    const [before, after] = [toolsOf(start, resource), toolsOf(chosen, resource)];
    const withdrawn = before.filter((name) => !after.includes(name));
    const granted = after.filter((name) => !before.includes(name));
    // All tools, granted meanwhile, would hide what is withdrawn here.
    const isHidden = withdrawn.length > 0 && !before.includes(ANY) && toolsOf(map, resource).includes(ANY);
    if (isHidden) return replace(map, resource, after);
    const kept = toolsOf(map, resource).filter((name) => !withdrawn.includes(name));
    return replace(map, resource, [...new Set([...kept, ...granted])]);
  }, stored);
}

/** The ids of the connections and agents that the map names. */
export function resourcesOf(permissions: PermissionMap): readonly string[] {
  return Object.keys(permissions).filter((resource) => resource !== SELF && resource !== ANY);
}

/** A map in the form of the API, whose arrays can be changed. */
export function toInput(permissions: PermissionMap): Record<string, string[]> {
  return Object.fromEntries(Object.entries(permissions).map(([resource, names]) => [resource, [...names]]));
}
