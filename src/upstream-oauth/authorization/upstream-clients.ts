import { Injectable } from '@nestjs/common';
import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  registerClient,
} from '@modelcontextprotocol/client';
import { isLoopback } from '../../common/loopback.js';
import { AppConfig } from '../../config/app-config.js';
import type { Connection } from '../../connections/connection.js';
import { ConnectionSecrets } from '../../connections/connection-secrets.js';
import { BoundedFetch } from '../../net/bounded-fetch.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';
import { UpstreamClientRepository } from './upstream-client.repository.js';

/** Below the base URL. */
const CALLBACK_PATH = '/oauth/callback';
const METADATA_PATH = '/oauth/client-metadata.json';

/** This service as a client of authorization servers. */
@Injectable()
export class UpstreamClients {
  constructor(
    private readonly registrations: UpstreamClientRepository,
    private readonly secrets: ConnectionSecrets,
    private readonly http: BoundedFetch,
    private readonly config: AppConfig,
  ) {}

  get redirectUri(): string {
    return `${this.config.baseUrl}${CALLBACK_PATH}`;
  }

  /**
   * The client metadata document, whose address is the client id (draft-ietf-oauth-client-id-metadata-document-00). Undefined on a
   * base URL without https, where no server would accept it.
   */
  get metadataDocument(): (OAuthClientMetadata & { client_id: string }) | undefined {
    const id = this.metadataUrl;
    return id === undefined ? undefined : { client_id: id, ...this.clientMetadata };
  }

  /**
   * The client for this authorization server: the configured one, the metadata document, or a registration (RFC 7591) that is kept.
   * @throws AuthorizationServerFault, and what the exchange throws
   */
  async clientFor(connection: Connection, metadata: AuthorizationServerMetadata): Promise<OAuthClientInformationMixed> {
    const configured = this.configuredClient(connection);
    if (configured !== undefined) {
      await this.requireIssuerOf(configured, connection, metadata);
      return configured;
    }
    const { metadataUrl } = this;
    if (metadataUrl !== undefined && metadata.client_id_metadata_document_supported === true) {
      return { client_id: metadataUrl };
    }
    const place = { connectionId: connection.id, issuer: metadata.issuer, redirectUri: this.redirectUri };
    const known = await this.registrations.find(place);
    if (known !== undefined && !isExpired(known)) return known;
    if (metadata.registration_endpoint === undefined) {
      throw new AuthorizationServerFault(
        'The authorization server registers no clients. Register one there and store its auth.client_id.',
      );
    }
    const { clientMetadata } = this;
    const client = await registerClient(metadata.issuer, { metadata, clientMetadata, fetchFn: this.http.fetch });
    const information = {
      client_id: client.client_id,
      client_secret: client.client_secret,
      client_secret_expires_at: client.client_secret_expires_at,
      token_endpoint_auth_method: client.token_endpoint_auth_method,
    };
    await this.registrations.save(place, information as OAuthClientInformationMixed);
    return information as OAuthClientInformationMixed;
  }

  /** Binds a configured client to the issuer that has accepted it: the upstream cannot have its secret sent elsewhere later. */
  async bindConfigured(connection: Connection, issuer: string): Promise<void> {
    const configured = this.configuredClient(connection);
    if (configured === undefined) return;
    const place = { connectionId: connection.id, issuer, redirectUri: this.redirectUri };
    await this.registrations.save(place, { ...configured, isConfigured: true });
  }

  private configuredClient(connection: Connection): OAuthClientInformationMixed | undefined {
    const id = connection.oauth?.clientId ?? null;
    if (id === null) return undefined;
    const secret = this.secrets.openClientSecret(connection);
    return { client_id: id, ...(secret !== undefined && { client_secret: secret }) };
  }

  /** @throws AuthorizationServerFault for another authorization server than before */
  private async requireIssuerOf(
    client: OAuthClientInformationMixed,
    { id }: Connection,
    { issuer }: AuthorizationServerMetadata,
  ): Promise<void> {
    const bound = await this.registrations.findIssuerOf(id, client);
    if (bound === undefined || bound === issuer) return;
    throw new AuthorizationServerFault(
      'The upstream names another authorization server than the one to which auth.client_id belongs. Store the client of the new server.',
    );
  }

  private get metadataUrl(): string | undefined {
    const { baseUrl } = this.config;
    return baseUrl.startsWith('https://') ? `${baseUrl}${METADATA_PATH}` : undefined;
  }

  private get clientMetadata(): OAuthClientMetadata {
    const { baseUrl } = this.config;
    return {
      client_name: 'Signalbox',
      client_uri: baseUrl,
      redirect_uris: [this.redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      // Servers accept http redirects only from native clients, and only loopback ones (OpenID Connect Registration §2).
      application_type: isLoopback(new URL(baseUrl)) ? 'native' : 'web',
    };
  }
}

function isExpired({ client_secret_expires_at: seconds = 0 }: OAuthClientInformationMixed): boolean {
  return seconds !== 0 && seconds * 1000 < Date.now();
}
