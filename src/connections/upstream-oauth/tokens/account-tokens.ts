import type { AuthorizationServerMetadata, OAuthTokens } from '@modelcontextprotocol/client';
import { databaseNow } from '../../../core/database-time.js';
import { type Connection, isEnterprise, isMachine } from '../../connection.js';
import type { UpstreamClient } from '../servers/client-assertion.js';

/** The refresh margin: a tenth of the lifetime, at most a minute. */
const MARGIN = 0.1;
const MAX_MARGIN_MS = 60_000;

/** What of an authorization server's metadata (RFC 8414) is needed after the log-in. */
export interface TokenServer {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly token_endpoint_auth_methods_supported?: string[] | undefined;
  readonly token_endpoint_auth_signing_alg_values_supported?: string[] | undefined;
  readonly revocation_endpoint?: string | undefined;
}

/** The tokens of an account, and what is needed to refresh and revoke them. Secret: never log it. */
export interface AccountTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly server: TokenServer;
  readonly client: UpstreamClient;
  /** The resource indicator (RFC 8707) that the tokens are for. */
  readonly resource: string;
  /** The scopes that the log-in requested, separated by spaces. */
  readonly scope?: string | undefined;
  /** The scopes that the upstream has demanded since, and that the next log-in requests too. */
  readonly demandedScope?: string | undefined;
  /** The revision of the connection with whose client the tokens were got; absent if a person stands behind them. */
  readonly machineRevision?: number | undefined;
}

/** The account of a connection, or of a member at it. Times in milliseconds since the epoch; `Infinity` if unknown. */
export interface Account {
  /** The ID token that the tokens were issued for, and with which they end; absent for those of a log-in. */
  readonly idTokenId?: string | undefined;
  /** The URL that the tokens are sent to. */
  readonly connectionUrl: string;
  readonly tokens: AccountTokens;
  readonly refreshAt: number;
  readonly expiresAt: number;
}

export function tokenServerOf(metadata: AuthorizationServerMetadata): TokenServer {
  return {
    issuer: metadata.issuer,
    token_endpoint: metadata.token_endpoint,
    token_endpoint_auth_methods_supported: metadata.token_endpoint_auth_methods_supported,
    token_endpoint_auth_signing_alg_values_supported: metadata.token_endpoint_auth_signing_alg_values_supported,
    revocation_endpoint: 'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined,
  };
}

/**
 * True if the connection, as it is now, can use the account. That of a client serves no later revision, which can have
 * another client; a process that does not know of the later revision yet uses the account of that one.
 */
export function isAccountFor({ connectionUrl, idTokenId, tokens }: Account, connection: Connection): boolean {
  const { machineRevision } = tokens;
  if (connectionUrl !== connection.url || (idTokenId !== undefined) !== isEnterprise(connection)) return false;
  if (!isMachine(connection)) return machineRevision === undefined;
  return machineRevision !== undefined && machineRevision >= connection.revision;
}

/** @param before the tokens or the log-in that the answer belongs to */
export function accountOf(
  { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds }: OAuthTokens,
  { server, client, resource, scope, demandedScope, machineRevision }: Omit<AccountTokens, 'accessToken'>,
  connectionUrl: string,
): Account {
  const tokens = { accessToken, refreshToken, server, client, resource, scope, demandedScope, machineRevision };
  if (seconds === undefined) return { connectionUrl, tokens, refreshAt: Infinity, expiresAt: Infinity };
  const lifetimeMs = seconds * 1000;
  const expiresAt = databaseNow() + lifetimeMs;
  return { connectionUrl, tokens, refreshAt: expiresAt - Math.min(MAX_MARGIN_MS, lifetimeMs * MARGIN), expiresAt };
}

/**
 * Of the scopes that an account requests, so that an upstream cannot make the address of the log-in arbitrarily long.
 */
const MAX_SCOPE_LENGTH = 2048;
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: +[\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** All these scopes, each once, separated by spaces; undefined if there is none. */
export function uniteScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []));
  all.delete('');
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** What a demand for more scopes means for an account. */
type ScopeDemand = 'noted' | 'new' | 'useless';

/**
 * `new` if a log-in that requests these scopes can help, `noted` if the next log-in will request them anyway, `useless`
 * if the last one requested them already or they cannot be requested.
 */
export function judgeDemand({ scope, demandedScope }: AccountTokens, demanded: string): ScopeDemand {
  if (!SCOPE.test(demanded) || includesScope(scope, demanded)) return 'useless';
  if (includesScope(uniteScopes(scope, demandedScope), demanded)) return 'noted';
  return (uniteScopes(scope, demandedScope, demanded)?.length ?? 0) > MAX_SCOPE_LENGTH ? 'useless' : 'new';
}

function includesScope(scope: string | undefined, part: string): boolean {
  return uniteScopes(scope, part)?.length === uniteScopes(scope)?.length;
}
