import { Injectable } from '@nestjs/common';
import { ClientCredentialsProvider, fetchToken, StaticPrivateKeyJwtProvider } from '@modelcontextprotocol/client';
import { withTimeout } from '../../../core/with-timeout.js';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import type { Connection } from '../../connection.js';
import { AuthorizationServerFault, faultOf, nameOf, requireBearer } from '../authorization-server-fault.js';
import { clientAssertionFor } from '../servers/client-assertion.js';
import { ConfiguredClients } from '../servers/configured-clients.js';
import { ServerDiscovery } from '../servers/server-discovery.js';
import { type Account, accountOf, tokenServerOf } from './account-tokens.js';
import { concernsAccount } from './token-requests.js';
import { UpstreamAuthorizationRepository } from './upstream-authorization.repository.js';

/** For all requests for a token, in milliseconds: less than the lease of a refresh. */
const TIMEOUT_MS = 8_000;

/**
 * The accounts of clients that act for themselves at upstreams (MCP extension
 * `io.modelcontextprotocol/oauth-client-credentials`). Each access token takes a request of its own: there are no
 * log-ins, and refresh tokens of the upstream are not used.
 */
@Injectable()
export class MachineAccounts {
  constructor(
    private readonly discovery: ServerDiscovery,
    private readonly clients: ConfiguredClients,
    private readonly repository: UpstreamAuthorizationRepository,
    private readonly http: BoundedFetch,
  ) {}

  /** Stores an account without a token for the connection, unless it has one. Returns that without a token. */
  async open(connection: Connection): Promise<Account> {
    const { url, oauth, revision } = connection;
    const connectionUrl = url ?? '';
    const server = { issuer: '', token_endpoint: '' };
    const client = { client_id: oauth?.clientId ?? '' };
    const tokens = { accessToken: '', server, client, resource: connectionUrl, machineRevision: revision };
    const account = { connectionUrl, tokens, refreshAt: 0, expiresAt: 0 };
    await this.repository.open(connection, account);
    return account;
  }

  /**
   * The account with a new access token.
   * @throws AuthorizationServerFault until the connection or its authorization server changes; any other error can pass
   */
  async request(connection: Connection): Promise<Account> {
    try {
      return await withTimeout(this.requestAtOnce(connection), TIMEOUT_MS, () => {
        throw new Error('The authorization server did not answer in time.');
      });
    } catch (error) {
      const fault = faultOf(error) ?? refusalOf(error, connection);
      throw fault === undefined ? error : new AuthorizationServerFault(fault, { cause: error });
    }
  }

  private async requestAtOnce(connection: Connection): Promise<Account> {
    const { url, oauth, revision } = connection;
    const client = this.clients.clientOf(connection);
    if (client === undefined || url === null) throw new AuthorizationServerFault('The connection has no client.');
    const { metadata, resource, scope: offered } = await this.discovery.discover(url);
    const { issuer } = metadata;
    await this.clients.requireIssuer(connection, client, issuer);
    const server = tokenServerOf(metadata);
    const assertion = await clientAssertionFor(client, server);
    const identity = { clientId: client.client_id, expectedIssuer: issuer };
    const provider =
      assertion === undefined
        ? new ClientCredentialsProvider({ ...identity, clientSecret: client.client_secret ?? '' })
        : new StaticPrivateKeyJwtProvider({ ...identity, jwtBearerAssertion: assertion });
    const scope = oauth?.scope ?? offered;
    const options = { metadata, resource, fetchFn: this.http.fetch, ...(scope !== undefined && { scope }) };
    const { refresh_token: _unused, ...tokens } = await fetchToken(provider, issuer, options);
    requireBearer(tokens);
    await this.clients.bind(connection, issuer);
    return accountOf(tokens, { server, client, resource, scope, machineRevision: revision }, url);
  }
}

/**
 * Undefined for an error that says nothing about the client, such as one of a server that refuses everybody for now.
 */
function refusalOf(error: unknown, { oauth }: Connection): string | undefined {
  if (!concernsAccount(error)) return undefined;
  if (error.code !== 'invalid_client') {
    return `The authorization server of the upstream refused a token for auth.client_id: ${nameOf(error.code)}.`;
  }
  return `The authorization server of the upstream does not accept auth.client_id with its auth.${oauth?.machine ?? ''}.`;
}
