import type { RouteAccess } from '../../core/access.js';
import type { Principal } from '../../core/principal.js';
import { scopeOf } from './protected-resource.js';

/** True if the credential opens the resource at this path (RFC 8707): most open every resource. */
export function opensResource({ resource }: Pick<Principal, 'resource'>, path: string): boolean {
  return resource === undefined || path.toLowerCase() === resource;
}

/** True if the scopes of the credential cover routes with this access. */
export function hasScopeFor({ scopes }: Pick<Principal, 'scopes'>, access: RouteAccess): boolean {
  return scopes === undefined || scopes.includes(scopeOf(access));
}
