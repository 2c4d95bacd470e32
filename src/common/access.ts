import { SetMetadata } from '@nestjs/common';

/**
 * What a route asks of its caller: `public` nothing; `organization` a credential of the organization in the path;
 * `tool` that, and the permission for the management tool in the path (checked where the tool is known); `mcp` no
 * credential or a good one, of the organization in the path if there is one there: the rest is decided for each tool.
 */
export type RouteAccess = 'public' | 'organization' | 'tool' | 'mcp';

export const ROUTE_ACCESS = 'signalbox:route-access';

/** Declares a route's access. A route without it is refused at the start. */
export function Access(access: RouteAccess): MethodDecorator & ClassDecorator {
  return SetMetadata(ROUTE_ACCESS, access);
}
