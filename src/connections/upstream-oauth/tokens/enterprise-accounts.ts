import { Injectable } from '@nestjs/common';
import { CrossAppAccessProvider, fetchToken } from '@modelcontextprotocol/client';
import { withTimeout } from '../../../core/with-timeout.js';
import { IdentityAssertions, IssuerRefusal } from '../../../identity/openid/identity-assertions.js';
import { IdTokens } from '../../../identity/openid/id-tokens.js';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import type { Connection } from '../../connection.js';
import { AuthorizationServerFault, nameOf, requireBearer } from '../authorization-server-fault.js';
import { ConfiguredClients } from '../servers/configured-clients.js';
import { ServerDiscovery } from '../servers/server-discovery.js';
import { type Account, accountOf, tokenServerOf } from './account-tokens.js';
import { AuthorizationEnded, concernsAccount } from './token-requests.js';
import { UpstreamAuthorizationRepository } from './upstream-authorization.repository.js';

/** For all requests of an exchange, in milliseconds: less than the lease of a refresh. */
const TIMEOUT_MS = 8_000;

/**
 * The issuer or the upstream's authorization server does not let the person in. The message is a sentence for people.
 */
export class AssertionRefused extends Error {
  override readonly name = 'AssertionRefused';
}

/** The issuer gave no ID token of the person, for a reason that can pass. The message is a sentence for people. */
export class IdTokenUnavailable extends Error {
  override readonly name = 'IdTokenUnavailable';
}

/**
 * The accounts of people at upstreams to which the issuer of their sign-in asserts them (MCP extension
 * `io.modelcontextprotocol/enterprise-managed-authorization`). Each access token takes an exchange of its own: there
 * are no log-ins, and no refresh tokens of the upstream.
 */
@Injectable()
export class EnterpriseAccounts {
  constructor(
    private readonly idTokens: IdTokens,
    private readonly assertions: IdentityAssertions,
    private readonly discovery: ServerDiscovery,
    private readonly clients: ConfiguredClients,
    private readonly repository: UpstreamAuthorizationRepository,
    private readonly http: BoundedFetch,
  ) {}

  /** Stores an account without a token for the person; undefined if there is no sign-in that it can be issued for. */
  async open(connection: Connection): Promise<Account | undefined> {
    const { url, accountUserId, oauth } = connection;
    const idTokenId = accountUserId === undefined ? undefined : await this.idTokens.findId(accountUserId);
    if (idTokenId === undefined || url === null) return undefined;
    const server = { issuer: '', token_endpoint: '' };
    const tokens = { accessToken: '', server, client: { client_id: oauth?.clientId ?? '' }, resource: url };
    const account = { connectionUrl: url, tokens, refreshAt: 0, expiresAt: 0, idTokenId };
    await this.repository.open(connection, account);
    return account;
  }

  /**
   * The account with a new access token.
   * @throws AuthorizationEnded for a person who has to sign in again, AssertionRefused, IdTokenUnavailable,
   *   AuthorizationServerFault; any other error can pass
   */
  exchange(connection: Connection): Promise<Account> {
    return withTimeout(this.exchangeAtOnce(connection), TIMEOUT_MS, () => {
      throw new Error('The authorization servers did not answer in time.');
    });
  }

  private async exchangeAtOnce(connection: Connection): Promise<Account> {
    const { url, accountUserId = '' } = connection;
    const idToken = await this.idTokens.current(accountUserId).catch((cause: unknown) => {
      throw new IdTokenUnavailable('The identity provider did not issue another ID token.', { cause });
    });
    const client = this.clients.clientOf(connection);
    if (idToken === undefined || client === undefined || url === null) {
      throw new AuthorizationEnded('There is no ID token.');
    }
    const { metadata, resource, scope: offered } = await this.discovery.discover(url);
    const { issuer } = metadata;
    await this.clients.requireIssuer(connection, client, issuer);
    const scope = connection.oauth?.scope ?? offered;
    const provider = new CrossAppAccessProvider({
      clientId: client.client_id,
      clientSecret: client.client_secret ?? '',
      expectedIssuer: issuer,
      assertion: () => this.requestAssertion(idToken.value, { audience: issuer, resource, scope }),
    });
    provider.saveAuthorizationServerUrl?.(issuer);
    provider.saveResourceUrl?.(resource);
    const options = { metadata, resource, fetchFn: this.http.fetch, ...(scope !== undefined && { scope }) };
    const tokens = await fetchToken(provider, issuer, options).catch(explain);
    requireBearer(tokens);
    await this.clients.bind(connection, issuer);
    return {
      ...accountOf(tokens, { server: tokenServerOf(metadata), client, resource, scope }, url),
      idTokenId: idToken.id,
    };
  }

  private async requestAssertion(...request: Parameters<IdentityAssertions['request']>): Promise<string> {
    try {
      return await this.assertions.request(...request);
    } catch (error) {
      if (!(error instanceof IssuerRefusal)) throw error;
      // The ID token, which is not expired, is not accepted: the person is signed out there, or was removed.
      if (error.code === 'invalid_grant') throw new AuthorizationEnded(error.code);
      throw new AssertionRefused(`The identity provider refused to assert you: ${nameOf(error.code)}.`);
    }
  }
}

function explain(error: unknown): never {
  if (!concernsAccount(error)) throw error;
  if (error.code === 'invalid_client') {
    throw new AuthorizationServerFault(
      'The authorization server of the upstream does not accept auth.client_id with its auth.client_secret.',
    );
  }
  throw new AssertionRefused(`The authorization server of the upstream refused your identity: ${nameOf(error.code)}.`);
}
