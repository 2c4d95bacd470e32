import { Injectable, Logger } from '@nestjs/common';
import {
  OAuthError,
  type OAuthTokens,
  refreshAuthorization,
  selectClientAuthMethod,
} from '@modelcontextprotocol/client';
import { ERRORS_OF_SERVERS } from '../../../core/oauth-errors.js';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import { clientAssertionFor } from '../servers/client-assertion.js';
import type { AccountTokens, TokenServer } from './account-tokens.js';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** The errors (RFC 6749 §5.2) after which the same request cannot succeed later: a person has to log in again. */
const FINAL_ERRORS: ReadonlySet<string> = new Set([
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
]);

/** True if the error of a refresh concerns the account alone, and not the authorization server. */
export function concernsAccount(error: unknown): error is OAuthError {
  return error instanceof OAuthError && !ERRORS_OF_SERVERS.has(error.code);
}

/** The refresh token is not, or no longer, accepted. */
export class AuthorizationEnded extends Error {
  override readonly name = 'AuthorizationEnded';
}

/** Asks authorization servers for new tokens, and to revoke them. */
@Injectable()
export class TokenRequests {
  private readonly logger = new Logger(TokenRequests.name);

  constructor(private readonly http: BoundedFetch) {}

  /** New tokens (RFC 6749 §6). @throws AuthorizationEnded; any other error can pass */
  async refresh({ refreshToken, server, client, resource }: AccountTokens): Promise<OAuthTokens> {
    if (refreshToken === undefined) throw new AuthorizationEnded('There is no refresh token.');
    const metadata = metadataOf(server);
    try {
      return await refreshAuthorization(server.issuer, {
        metadata,
        clientInformation: client,
        refreshToken,
        resource,
        fetchFn: this.http.fetch,
      });
    } catch (error) {
      if (error instanceof OAuthError && FINAL_ERRORS.has(error.code)) throw new AuthorizationEnded(error.code);
      throw error;
    }
  }

  /** Revokes the tokens (RFC 7009), if the server can. Never rejects: the service has forgotten them in any case. */
  async revoke(connectionId: string, { accessToken, refreshToken, server, client }: AccountTokens): Promise<void> {
    if (server.revocation_endpoint === undefined) return;
    const method = selectClientAuthMethod(client, server.token_endpoint_auth_methods_supported ?? []);
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
    const { client_id: id, client_secret: secret = '' } = client;
    if (method === 'client_secret_basic') {
      const credentials = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
      headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
    }
    const sent = [
      ...(refreshToken === undefined ? [] : [{ token: refreshToken, token_type_hint: 'refresh_token' }]),
      // An account to which no token was issued yet has an empty one.
      ...(accessToken === '' ? [] : [{ token: accessToken, token_type_hint: 'access_token' }]),
    ];
    for (const token of sent) {
      const form = new URLSearchParams({
        ...token,
        ...(method !== 'client_secret_basic' && { client_id: id }),
        ...(method === 'client_secret_post' && { client_secret: secret }),
      });
      try {
        const assertion = await clientAssertionFor(client, server);
        if (assertion !== undefined) {
          form.set('client_assertion_type', JWT_BEARER);
          form.set('client_assertion', assertion);
        }
        const { status } = await this.http.fetch(server.revocation_endpoint, { method: 'POST', headers, body: form });
        if (status >= 400) throw new Error(`The revocation endpoint answered ${status}.`);
      } catch (error) {
        this.logger.warn({ connection_id: connectionId, err: error }, 'Could not revoke a token at an upstream');
      }
    }
  }
}

/** The metadata in the form of the SDK, which reads only the token endpoint and its methods. */
export function metadataOf(server: TokenServer) {
  return { ...server, authorization_endpoint: server.issuer, response_types_supported: ['code'] };
}
