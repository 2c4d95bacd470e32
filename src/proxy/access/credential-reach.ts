import type { Connection } from '../../connections/connection.js';
import type { Principal } from '../../core/principal.js';
import { hasRunAccess } from '../../core/run-access.js';
import {
  endpointPathOf,
  gatewayPathOf,
  hasScopeFor,
  opensResource,
  organizationPathOf,
} from '../../identity/auth/protected-resource.js';

/** True if the credential admits requests to an MCP endpoint of the connection or agent, whatever they ask for. */
export function opensEndpoint(principal: Principal, { id }: Pick<Connection, 'id'>): boolean {
  const { slug } = principal.organization;
  const paths = [endpointPathOf(slug, id), gatewayPathOf(slug, id), endpointPathOf(undefined, id)];
  return hasScopeFor(principal, 'mcp') && paths.some((path) => opensResource(principal, path));
}

/** True if the caller can post messages to the agent. */
export function canRun(principal: Principal, agentId: string): boolean {
  const isOpen = opensResource(principal, organizationPathOf(principal.organization.slug));
  return isOpen && hasScopeFor(principal, 'organization') && hasRunAccess(principal, agentId);
}
