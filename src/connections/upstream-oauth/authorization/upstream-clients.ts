import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  registerClient,
} from '@modelcontextprotocol/client';
import { databaseNow } from '../../../core/database-time.js';
import { isLoopback } from '../../../core/loopback.js';
import { AppConfig } from '../../../core/config/app-config.js';
import type { Connection } from '../../connection.js';
import { BoundedFetch } from '../../../platform/net/bounded-fetch.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';
import { ConfiguredClients } from '../servers/configured-clients.js';
import { UpstreamClientRepository } from '../servers/upstream-client.repository.js';

/** Below the base URL. By itself it belongs to clients from before there was an address per authorization server. */
const METADATA_PATH = '/oauth/client-metadata';
/** In its address: of a digest. */
const PLACE = /^[\w-]{43}$/;

/** This service as a client at one authorization server. */
interface LocalClient {
  readonly information: OAuthClientInformationMixed;
  readonly redirectUri: string;
}

/**
 * This service as a client of authorization servers. Each connection has a redirect URI of its own at each of them, so
 * that no server can have the code of another one sent to its token endpoint (mix-up, RFC 9700 §4.4).
 */
@Injectable()
export class UpstreamClients {
  constructor(
    private readonly registrations: UpstreamClientRepository,
    private readonly configured: ConfiguredClients,
    private readonly http: BoundedFetch,
    private readonly config: AppConfig,
  ) {}

  /**
   * The client metadata document, whose address is the client id (draft-ietf-oauth-client-id-metadata-document-00).
   * Undefined on a base URL without https, where no server would accept it.
   * @param place of the redirect URI; servers still read the document without one when they refresh older tokens
   */
  metadataDocument(place?: string): (OAuthClientMetadata & { client_id: string }) | undefined {
    const id = this.metadataUrl(place);
    if (id === undefined || (place !== undefined && !PLACE.test(place))) return undefined;
    return { client_id: id, ...this.clientMetadata(this.configured.redirectUri(place)) };
  }

  /**
   * The client for this authorization server: the configured one, the metadata document, or a registration (RFC 7591)
   * that is kept.
   * @throws AuthorizationServerFault, and what the exchange throws
   */
  async clientFor(connection: Connection, metadata: AuthorizationServerMetadata): Promise<LocalClient> {
    const configured = this.configured.clientOf(connection);
    if (configured !== undefined) {
      await this.configured.requireIssuer(connection, configured, metadata.issuer);
      return { information: configured, redirectUri: this.configured.redirectUri(connection.id) };
    }
    const place = placeOf(connection, metadata);
    const redirectUri = this.configured.redirectUri(place);
    const metadataUrl = this.metadataUrl(place);
    const isDocument = metadataUrl !== undefined && metadata.client_id_metadata_document_supported === true;
    const information = isDocument
      ? { client_id: metadataUrl }
      : await this.registeredClient(connection, metadata, redirectUri);
    return { information, redirectUri };
  }

  /** Forgets what the service has registered for the connection; the next log-in registers it again. */
  async forgetRegistered({ id, oauth }: Connection): Promise<void> {
    if (oauth?.clientId == null) await this.registrations.removeAll(id);
  }

  private async registeredClient(
    { id: connectionId }: Connection,
    metadata: AuthorizationServerMetadata,
    redirectUri: string,
  ): Promise<OAuthClientInformationMixed> {
    const registration = { connectionId, issuer: metadata.issuer, redirectUri };
    const known = await this.registrations.find(registration);
    if (known !== undefined && !isExpired(known)) return known;
    if (metadata.registration_endpoint === undefined) {
      throw new AuthorizationServerFault(
        'The authorization server registers no clients. Register one there and store its auth.client_id.',
      );
    }
    const clientMetadata = this.clientMetadata(redirectUri);
    const client = await registerClient(metadata.issuer, { metadata, clientMetadata, fetchFn: this.http.fetch });
    const information = {
      client_id: client.client_id,
      client_secret: client.client_secret,
      client_secret_expires_at: client.client_secret_expires_at,
      token_endpoint_auth_method: client.token_endpoint_auth_method,
    };
    await this.registrations.save(registration, information as OAuthClientInformationMixed);
    return information as OAuthClientInformationMixed;
  }

  private metadataUrl(place?: string): string | undefined {
    const { baseUrl } = this.config;
    if (!baseUrl.startsWith('https://')) return undefined;
    return `${baseUrl}${METADATA_PATH}${place === undefined ? '' : `/${place}`}.json`;
  }

  private clientMetadata(redirectUri: string): OAuthClientMetadata {
    const { baseUrl } = this.config;
    return {
      client_name: 'Signalbox',
      client_uri: baseUrl,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      // Servers accept http redirects only from native clients, and only loopback ones (OpenID Connect Registration
      // §2).
      application_type: isLoopback(new URL(baseUrl)) ? 'native' : 'web',
    };
  }
}

/** Names the authorization server too: the upstream of a connection can name another one later. */
function placeOf({ id }: Connection, { issuer }: AuthorizationServerMetadata): string {
  return hash('sha256', `${id} ${issuer}`, 'base64url');
}

function isExpired({ client_secret_expires_at: seconds = 0 }: OAuthClientInformationMixed): boolean {
  return seconds !== 0 && seconds * 1000 < databaseNow();
}
