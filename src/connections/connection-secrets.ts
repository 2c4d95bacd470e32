import { Injectable } from '@nestjs/common';
import { VaultService } from '../platform/vault/vault.service.js';
import type { ConnectionCredentials, SealedCredentials } from './connection.js';

/** Seals and opens the secrets of a connection. Each value opens only for the purpose that it was sealed for. */
@Injectable()
export class ConnectionSecrets {
  constructor(private readonly vault: VaultService) {}

  sealToken(connectionId: string, token: string): string {
    return this.vault.seal(token, tokenContext(connectionId));
  }

  sealHeaders(connectionId: string, headers: Readonly<Record<string, string>>): string {
    return this.vault.seal(JSON.stringify(headers), headersContext(connectionId));
  }

  sealStdioEnv(connectionId: string, env: Readonly<Record<string, string>>): string {
    return this.vault.seal(JSON.stringify(env), stdioEnvContext(connectionId));
  }

  sealClientSecret(connectionId: string, secret: string): string {
    return this.vault.seal(secret, clientSecretContext(connectionId));
  }

  /** The client secret of an OAuth connection; undefined if none is stored. Throws as `open` does. */
  openClientSecret({ id, sealed }: { id: string; sealed: SealedCredentials }): string | undefined {
    const { oauthClientSecret } = sealed;
    return oauthClientSecret === null ? undefined : this.vault.open(oauthClientSecret, clientSecretContext(id));
  }

  /**
   * The decrypted credentials, for a request that is about to send them.
   * @throws what `VaultService.open` throws, when the key is missing or the row was tampered with
   */
  open({ id, sealed }: { id: string; sealed: SealedCredentials }): ConnectionCredentials {
    const headers = this.openHeaders(id, sealed.headers);
    return sealed.token === null
      ? { headers }
      : { headers, bearerToken: this.vault.open(sealed.token, tokenContext(id)) };
  }

  openHeaders(connectionId: string, sealed: string | null): Record<string, string> {
    return this.openMap(sealed, headersContext(connectionId));
  }

  /** The environment of a STDIO connection's program; throws as `open` does. */
  openStdioEnv(connectionId: string, sealed: string | null): Record<string, string> {
    return this.openMap(sealed, stdioEnvContext(connectionId));
  }

  private openMap(sealed: string | null, context: string): Record<string, string> {
    if (sealed === null) return {};
    // The envelope is authentic, so it contains the map that was sealed.
    return JSON.parse(this.vault.open(sealed, context)) as Record<string, string>;
  }
}

function tokenContext(connectionId: string): string {
  return `connection:${connectionId}:token`;
}

function headersContext(connectionId: string): string {
  return `connection:${connectionId}:headers`;
}

function stdioEnvContext(connectionId: string): string {
  return `connection:${connectionId}:stdio_env`;
}

function clientSecretContext(connectionId: string): string {
  return `connection:${connectionId}:oauth_client_secret`;
}
