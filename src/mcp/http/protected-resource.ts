import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../common/error-codes.js';
import { urlWithoutCredentials } from '../../common/credential-forms.js';
import { AppConfig } from '../../config/app-config.js';

/** Protected-resource metadata (RFC 9728 §2). */
export interface ResourceMetadata {
  resource: string;
  authorization_servers?: readonly string[];
  bearer_methods_supported: readonly ['header'];
  resource_name: string;
}

export const METADATA_SUFFIX = '.well-known/oauth-protected-resource';

/** Describes the MCP endpoints as OAuth protected resources: their paths, their metadata, and the challenge of a 401. */
@Injectable()
export class ProtectedResource {
  constructor(private readonly config: AppConfig) {}

  /** @param path of the endpoint, such as `/api/acme/mcp/<connectionId>`, whether or not it exists */
  metadata(path: string): ResourceMetadata {
    const { authorizationServerUrl } = this.config.settings;
    return {
      resource: this.config.baseUrl + urlWithoutCredentials(path),
      ...(authorizationServerUrl !== undefined && { authorization_servers: [authorizationServerUrl] }),
      bearer_methods_supported: ['header'],
      resource_name: 'Signalbox MCP endpoint',
    };
  }

  /** The value of `WWW-Authenticate` (RFC 9728 §5.1), with `error` after a bad credential (RFC 6750 §3.1). */
  challenge(request: FastifyRequest, code: ErrorCode): string {
    const url = `${this.config.baseUrl}${urlWithoutCredentials(endpointPath(request))}/${METADATA_SUFFIX}`;
    const challenge = `Bearer realm="mcp",resource_metadata="${url}"`;
    return code === 'credential_missing' ? challenge : `${challenge},error="invalid_token"`;
  }
}

/** The path of the request's MCP endpoint; for a `call-tool` path, the endpoint that it belongs to. */
function endpointPath({ routeOptions, params }: FastifyRequest): string {
  const values = params as Record<string, string>;
  const [endpoint = ''] = (routeOptions.url ?? '').split('/call-tool/', 1);
  return endpoint.replaceAll(/:(\w+)/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** @param org undefined for the legacy path */
export function endpointPathOf(org: string | undefined, connectionId: string): string {
  const endpoint = `/mcp/${encodeURIComponent(connectionId)}`;
  return org === undefined ? endpoint : `/api/${encodeURIComponent(org)}${endpoint}`;
}

export function gatewayPathOf(org: string, virtualMcpId: string): string {
  return `/api/${encodeURIComponent(org)}/mcp/gateway/${encodeURIComponent(virtualMcpId)}`;
}
