import { Injectable } from '@nestjs/common';
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';

/** Any request that a server which demands OAuth refuses. */
const PROBE = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
};

/** The authorization server of an upstream, and what the upstream asks for. */
export interface DiscoveredServer {
  readonly metadata: AuthorizationServerMetadata;
  /** The resource indicator (RFC 8707). */
  readonly resource: string;
  readonly scope: string | undefined;
}

/**
 * Finds the authorization server of an upstream (MCP 2025-11-25, "Authorization Server Discovery"). An upstream of MCP
 * 2025-03-26 has no document about the protected resource: it is its own authorization server, with or without
 * metadata.
 */
@Injectable()
export class ServerDiscovery {
  constructor(private readonly http: BoundedFetch) {}

  /** @throws AuthorizationServerFault, and what the exchange throws */
  async discover(url: string): Promise<DiscoveredServer> {
    const challenge = extractWWWAuthenticateParams(await this.http.head(url, PROBE));
    const document = await this.resourceMetadata(url, challenge.resourceMetadataUrl);
    const resource = document?.resource ?? url;
    if (!checkResourceAllowed({ requestedResource: url, configuredResource: resource })) {
      throw new AuthorizationServerFault('The metadata of the upstream describes another resource (RFC 9728).');
    }
    const issuer = document?.authorization_servers?.[0] ?? new URL('/', url).href;
    const metadata =
      (await discoverAuthorizationServerMetadata(issuer, { fetchFn: this.http.fetch })) ??
      (document === undefined ? defaultMetadata(new URL(url).origin) : undefined);
    if (metadata === undefined) {
      throw new AuthorizationServerFault(
        `The authorization server ${new URL(issuer).origin} has no metadata document.`,
      );
    }
    const scope = challenge.scope ?? document?.scopes_supported?.join(' ');
    return { metadata, resource, scope: scope === '' ? undefined : scope };
  }

  /** Undefined for an upstream without a document. */
  private async resourceMetadata(
    url: string,
    resourceMetadataUrl: URL | undefined,
  ): Promise<OAuthProtectedResourceMetadata | undefined> {
    try {
      const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
      return await discoverOAuthProtectedResourceMetadata(url, options, this.http.fetch);
    } catch (error) {
      // A document that the upstream named must be there.
      if (resourceMetadataUrl !== undefined || !isNotFound(error)) throw error;
      return undefined;
    }
  }
}

/** The endpoints of a server without metadata (MCP 2025-03-26, "Fallbacks for Servers without Metadata Discovery"). */
function defaultMetadata(origin: string): AuthorizationServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
}

/**
 * Checks that people can log in at the server.
 * @throws AuthorizationServerFault
 */
export function requireCodeFlow({
  code_challenge_methods_supported: methods,
  authorization_endpoint: endpoint,
}: AuthorizationServerMetadata): void {
  if (methods?.includes('S256') !== true) {
    throw new AuthorizationServerFault('The authorization server does not support PKCE with S256.');
  }
  const protocol = URL.parse(endpoint)?.protocol;
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new AuthorizationServerFault('The authorization server has no usable authorization endpoint.');
  }
}

/** The SDK reports a missing document, and one that cannot be had, by their status in a plain error. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && /does not implement|HTTP 4\d\d/.test(error.message);
}
