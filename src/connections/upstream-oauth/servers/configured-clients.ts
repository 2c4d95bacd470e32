import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../core/config/app-config.js';
import type { Connection } from '../../connection.js';
import { ConnectionSecrets } from '../../connection-secrets.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';
import type { UpstreamClient } from './client-assertion.js';
import { UpstreamClientRepository } from './upstream-client.repository.js';

/** Below the base URL. By itself it belongs to clients from before there was an address per authorization server. */
const CALLBACK_PATH = '/oauth/callback';

/**
 * The clients that people have set up at the authorization servers of upstreams. Each belongs to the issuer that has
 * accepted it first: the upstream cannot have its secret sent elsewhere later.
 */
@Injectable()
export class ConfiguredClients {
  constructor(
    private readonly registrations: UpstreamClientRepository,
    private readonly secrets: ConnectionSecrets,
    private readonly config: AppConfig,
  ) {}

  /** The client of the connection; undefined if none is configured. */
  clientOf(connection: Connection): UpstreamClient | undefined {
    const id = connection.oauth?.clientId ?? null;
    if (id === null) return undefined;
    const secret = this.secrets.openClientSecret(connection);
    if (secret === undefined) return { client_id: id };
    const hasKey = connection.oauth?.machine === 'private_key';
    return { client_id: id, ...(hasKey ? { private_key: secret } : { client_secret: secret }) };
  }

  /** @throws AuthorizationServerFault for another authorization server than before */
  async requireIssuer(connection: Connection, client: UpstreamClient, issuer: string): Promise<void> {
    const bound = await this.registrations.findIssuerOf(connection.id, client);
    if (bound === undefined || bound === issuer) return;
    throw new AuthorizationServerFault(
      'The upstream names another authorization server than the one to which auth.client_id belongs. Store the ' +
        'client of the new server.',
    );
  }

  /** Binds the client of the connection, if any, to the issuer that has accepted it. */
  async bind(connection: Connection, issuer: string): Promise<void> {
    const client = this.clientOf(connection);
    if (client === undefined) return;
    const registration = { connectionId: connection.id, issuer, redirectUri: this.redirectUri(connection.id) };
    await this.registrations.save(registration, { ...client, isConfigured: true });
  }

  /** Where the authorization server sends people back to the connection's client; undefined if none is configured. */
  redirectUriOf({ id, oauth }: Connection): string | undefined {
    return oauth?.clientId == null ? undefined : this.redirectUri(id);
  }

  /** @param place in its path: for a configured client the id of the connection, so that it is known beforehand */
  redirectUri(place?: string): string {
    return `${this.config.baseUrl}${CALLBACK_PATH}${place === undefined ? '' : `/${place}`}`;
  }
}
