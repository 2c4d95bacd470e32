import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import {
  exchangeAuthorization,
  IssuerMismatchError,
  OAuthError,
  RegistrationRejectedError,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import { DomainError } from '../../../core/domain-error.js';
import { type Connection, isEnterprise, connectionFor, hasMemberAccounts } from '../../connection.js';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import { AuthorizationServerFault, faultOf, nameOf, requireBearer } from '../authorization-server-fault.js';
import { ConfiguredClients } from '../servers/configured-clients.js';
import { type DiscoveredServer, requireCodeFlow, ServerDiscovery } from '../servers/server-discovery.js';
import { type Account, accountOf, tokenServerOf, uniteScopes } from '../tokens/account-tokens.js';
import { metadataOf } from '../tokens/token-requests.js';
import { UpstreamAuthorizationRepository } from '../tokens/upstream-authorization.repository.js';
import { ConnectedAccounts } from './connected-accounts.js';
import { OauthConnections } from './oauth-connections.js';
import { UpstreamClients } from './upstream-clients.js';
import { type LogIn, type SignedInBrowser, UpstreamLogInRepository } from './upstream-log-in.repository.js';

/** The parameters of the authorization server's answer (RFC 6749 §4.1.2, RFC 9207). */
interface AuthorizationAnswer {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
  /** The path at which it arrived. */
  readonly path: string;
}

/** What an account is for. */
interface LogInPurpose {
  /** Of the connection. */
  readonly title: string;
  /** The upstream's host, and its port if it has an unusual one. */
  readonly host: string;
  /** True if the account is that of the sign-in with the issuer, so that there is no log-in. */
  readonly isEnterprise: boolean;
  /** True if everyone who may call the connection uses the account. */
  readonly isShared: boolean;
  /** What a configured client needs at the authorization server. */
  readonly redirectUri: string | undefined;
}

/** Logs people in at the authorization servers of upstreams. */
@Injectable()
export class UpstreamLogIns {
  private readonly logger = new Logger(UpstreamLogIns.name);

  constructor(
    private readonly connections: OauthConnections,
    private readonly discovery: ServerDiscovery,
    private readonly clients: UpstreamClients,
    private readonly configured: ConfiguredClients,
    private readonly logIns: UpstreamLogInRepository,
    private readonly stored: UpstreamAuthorizationRepository,
    private readonly accounts: ConnectedAccounts,
    private readonly http: BoundedFetch,
  ) {}

  /**
   * What a person should know before logging in for this connection.
   * @throws DomainError `not_found`, `permission_denied`, or `invalid_request` for a connection without OAuth
   */
  async describe(connectionId: string, userId: string): Promise<LogInPurpose> {
    const connection = await this.connections.requireForPage(connectionId, userId);
    const { title, url } = connection;
    const redirectUri = this.configured.redirectUriOf(connection);
    const use = { isEnterprise: isEnterprise(connection), isShared: !hasMemberAccounts(connection) };
    return { title, host: new URL(url).host, ...use, redirectUri };
  }

  /**
   * Begins a log-in. Returns the address at the upstream's authorization server to which the browser is sent.
   * @throws DomainError `not_found`, `permission_denied`, `connection_unavailable`, or `upstream_protocol` with the
   *   reason
   */
  async begin(connectionId: string, browser: SignedInBrowser): Promise<string> {
    const connection = await this.connections.requireForLogIn(connectionId, browser.userId);
    try {
      const server = await this.discovery.discover(connection.url);
      requireCodeFlow(server.metadata);
      const { information: client, redirectUri } = await this.clients.clientFor(connection, server.metadata);
      const state = randomBytes(32).toString('base64url');
      const accountUserId = hasMemberAccounts(connection) ? browser.userId : null;
      const scope = scopeOf(connection, server, await this.stored.find(connectionFor(connection, accountUserId)));
      const { authorizationUrl, codeVerifier } = await startAuthorization(server.metadata.issuer, {
        metadata: server.metadata,
        clientInformation: client,
        redirectUrl: redirectUri,
        state,
        resource: server.resource,
        ...(scope !== undefined && { scope }),
      });
      await this.logIns.insert(state, browser, connection.id, {
        server: logInServerOf(server),
        client,
        resource: server.resource,
        scope,
        codeVerifier,
        redirectUri,
        connectionUrl: connection.url,
        accountUserId,
      });
      return authorizationUrl.href;
    } catch (error) {
      throw this.explain(connection, error);
    }
  }

  /**
   * Ends the log-in that this browser has begun, and stores the tokens. Returns the title of the connection.
   * @throws DomainError `invalid_request` for an answer that belongs to no log-in of this browser, and what `begin`
   *   throws
   */
  async complete(answer: AuthorizationAnswer, browser: SignedInBrowser): Promise<string> {
    const { state = '' } = answer;
    const logIn = await this.logIns.take(state, browser);
    if (logIn === undefined) {
      throw new DomainError('invalid_request', 'This log-in is unknown, has expired or was begun in another browser.');
    }
    const connection = await this.connections.requireForLogIn(logIn.connectionId, browser.userId);
    const bound = connectionFor(connection, logIn.accountUserId);
    if (connection.url !== logIn.connectionUrl || hasMemberAccounts(connection) !== (logIn.accountUserId !== null)) {
      throw new DomainError('conflict', 'The connection was changed during the log-in. Begin again.');
    }
    const account = await this.redeem(bound, logIn, answer).catch((cause: unknown) => {
      throw this.explain(connection, cause);
    });
    await this.accounts.connect(bound, account, browser.userId);
    return connection.title;
  }

  private async redeem(
    connection: Connection,
    { server, client, resource, scope, codeVerifier, redirectUri, connectionUrl }: LogIn,
    { code, iss, error, path }: AuthorizationAnswer,
  ): Promise<Account> {
    if (path !== new URL(redirectUri).pathname) {
      throw new AuthorizationServerFault('The answer came to the redirect address of another authorization server.');
    }
    const issParameterSupported = server.authorization_response_iss_parameter_supported === true;
    validateAuthorizationResponseIssuer({ iss, expectedIssuer: server.issuer, issParameterSupported });
    if (error !== undefined || code === undefined) {
      const reason = /^[\w.-]{1,64}$/.test(error ?? '') ? error : 'no code';
      throw new AuthorizationServerFault(`The authorization server answered: ${reason}.`);
    }
    try {
      const tokens = await exchangeAuthorization(server.issuer, {
        metadata: { ...metadataOf(server), authorization_response_iss_parameter_supported: issParameterSupported },
        clientInformation: client,
        authorizationCode: code,
        ...(iss !== undefined && { iss }),
        codeVerifier,
        redirectUri,
        resource,
        fetchFn: this.http.fetch,
      });
      requireBearer(tokens);
      await this.configured.bind(connection, server.issuer);
      return accountOf(tokens, { server, client, resource, scope }, connectionUrl);
    } catch (cause) {
      // The registration may have been removed at the server; the next log-in makes another one.
      if (cause instanceof OAuthError && cause.code === 'invalid_client')
        await this.clients.forgetRegistered(connection);
      throw cause;
    }
  }

  /** The reason why a log-in failed, without text of the server. */
  private explain({ id }: Connection, error: unknown): DomainError {
    if (error instanceof DomainError) return error;
    this.logger.warn({ connection_id: id, err: error }, 'A log-in at an upstream failed');
    const reason = faultOf(error) ?? reasonOf(error);
    return new DomainError('upstream_protocol', reason, [], { cause: error, status: 502 });
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof IssuerMismatchError) return 'The answer came from another authorization server (RFC 9207).';
  if (error instanceof RegistrationRejectedError) return 'The authorization server refused to register this service.';
  if (error instanceof OAuthError) return `The authorization server answered: ${nameOf(error.code)}.`;
  return 'The authorization server could not be used: it did not answer as OAuth 2.1 requires.';
}

/**
 * The configured scopes, or those that the upstream asks for together with what the account has requested and lacked so
 * far. Refresh tokens need their own scope at some servers.
 */
function scopeOf(
  { oauth, url }: Connection,
  { scope, metadata }: DiscoveredServer,
  account: Account | undefined,
): string | undefined {
  const previous =
    account?.connectionUrl === url && account?.tokens.server.issuer === metadata.issuer ? account?.tokens : undefined;
  const wanted = oauth?.scope ?? uniteScopes(scope, previous?.scope, previous?.demandedScope);
  const isOffline = metadata.scopes_supported?.includes('offline_access') === true;
  return uniteScopes(wanted, isOffline ? 'offline_access' : undefined);
}

function logInServerOf({ metadata }: DiscoveredServer): LogIn['server'] {
  const isIssSupported = metadata['authorization_response_iss_parameter_supported'] === true;
  return { ...tokenServerOf(metadata), authorization_response_iss_parameter_supported: isIssSupported };
}
