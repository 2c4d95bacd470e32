import { SetMetadata } from '@nestjs/common';

/**
 * The access that a route requires. `public`: none. `organization`: a credential of the organization in the path.
 * `tool`: that, and the permission for the management tool in the path (checked where the tool is looked up). `mcp`: no
 * credential or a valid one, of the organization in the path if there is one; each tool decides the rest.
 */
export type RouteAccess = 'public' | 'organization' | 'tool' | 'mcp';

/** The access of a route that verifies credentials. */
export type ProtectedAccess = Exclude<RouteAccess, 'public'>;

export const ROUTE_ACCESS = 'signalbox:route-access';

/** Declares a route's access. A route without it stops the start. */
export function Access(access: RouteAccess): MethodDecorator & ClassDecorator {
  return SetMetadata(ROUTE_ACCESS, access);
}
