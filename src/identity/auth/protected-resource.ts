import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { RouteAccess } from '../../core/access.js';
import type { Principal } from '../../core/principal.js';
import type { DomainError } from '../../core/domain-error.js';
import { urlWithoutCredentials } from '../../core/credential-forms.js';
import { AppConfig } from '../../core/config/app-config.js';
import { publicOriginOf } from '../../core/config/public-origin.js';

/** The OAuth scopes: of the MCP endpoints, and of everything else below `/api/:org`. */
export type Scope = 'mcp' | 'api';

/** Protected-resource metadata (RFC 9728 §2). */
export interface ResourceMetadata {
  resource: string;
  authorization_servers: readonly string[];
  scopes_supported: readonly Scope[];
  bearer_methods_supported: readonly ['header'];
  resource_name: string;
}

export const METADATA_SUFFIX = '.well-known/oauth-protected-resource';

const NAMES: Readonly<Record<Scope, string>> = { mcp: 'Signalbox MCP endpoint', api: 'Signalbox API' };

/**
 * Describes what can be called as OAuth protected resources: their paths, their metadata, and the challenge of a
 * refusal.
 */
@Injectable()
export class ProtectedResource {
  constructor(private readonly config: AppConfig) {}

  /**
   * @param path of the resource, such as `/api/acme/mcp/<connectionId>` or `/api/acme`, whether or not it exists
   * @param host the request's `Host` header
   */
  metadata(path: string, scope: Scope, host: string | undefined): ResourceMetadata {
    const origin = publicOriginOf(this.config, host);
    return {
      resource: origin + urlWithoutCredentials(path),
      authorization_servers: [this.config.settings.authorizationServerUrl ?? origin],
      scopes_supported: [scope],
      bearer_methods_supported: ['header'],
      resource_name: NAMES[scope],
    };
  }

  /**
   * The value of `WWW-Authenticate` for a refused request (RFC 9728 §5.1), with `error` after a bad credential or one
   * without the scope (RFC 6750 §3.1). Undefined if the refusal has no challenge.
   */
  challenge(request: FastifyRequest, access: RouteAccess, { code, status }: DomainError): string | undefined {
    if (status !== 401 && code !== 'insufficient_scope') return undefined;
    const origin = publicOriginOf(this.config, request.headers.host);
    const url = `${origin}${urlWithoutCredentials(resourcePathOf(request, access))}`;
    const challenge = `Bearer realm="mcp",resource_metadata="${url}/${METADATA_SUFFIX}"`;
    if (code === 'credential_missing') return challenge;
    if (code === 'insufficient_scope') return `${challenge},error="insufficient_scope",scope="${scopeOf(access)}"`;
    return `${challenge},error="invalid_token"`;
  }
}

/** The scope that a token needs at a route. */
export function scopeOf(access: RouteAccess): Scope {
  return access === 'mcp' ? 'mcp' : 'api';
}

/** True if the credential opens the resource at this path (RFC 8707): most open every resource. */
export function opensResource({ resource }: Pick<Principal, 'resource'>, path: string): boolean {
  return resource === undefined || path.toLowerCase() === resource;
}

/** True if the scopes of the credential cover routes with this access. */
export function hasScopeFor({ scopes }: Pick<Principal, 'scopes'>, access: RouteAccess): boolean {
  return scopes === undefined || scopes.includes(scopeOf(access));
}

/**
 * The path of the resource that a request is for: its MCP endpoint, for a `call-tool` path the endpoint that it belongs
 * to, and the organization for everything else.
 */
export function resourcePathOf({ routeOptions, params }: FastifyRequest, access: RouteAccess): string {
  const values = params as Record<string, string>;
  if (access !== 'mcp') return organizationPathOf(values['org'] ?? '');
  const [endpoint = ''] = (routeOptions.url ?? '').split('/call-tool/', 1);
  return endpoint.replaceAll(/:(\w+)/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** @param org undefined for the legacy path */
export function endpointPathOf(org: string | undefined, connectionId: string): string {
  const endpoint = `/mcp/${encodeURIComponent(connectionId)}`;
  return org === undefined ? endpoint : `${organizationPathOf(org)}${endpoint}`;
}

export function gatewayPathOf(org: string, virtualMcpId: string): string {
  return `${organizationPathOf(org)}/mcp/gateway/${encodeURIComponent(virtualMcpId)}`;
}

export function organizationPathOf(org: string): string {
  return `/api/${encodeURIComponent(org)}`;
}
