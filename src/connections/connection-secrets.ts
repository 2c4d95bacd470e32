import { Injectable } from '@nestjs/common';
import { SEALED_COLUMNS } from '../platform/vault/sealed-columns.js';
import { VaultService } from '../platform/vault/vault.service.js';
import type { ConnectionCredentials, SealedCredentials } from './connection.js';

const { connectionToken, connectionHeaders, connectionStdioEnv, connectionOauthClientSecret } = SEALED_COLUMNS;

/** Seals and opens the secrets of a connection. Each value opens only for the purpose that it was sealed for. */
@Injectable()
export class ConnectionSecrets {
  constructor(private readonly vault: VaultService) {}

  sealToken(connectionId: string, token: string): string {
    return this.vault.seal(token, connectionToken.contextOf(connectionId));
  }

  sealHeaders(connectionId: string, headers: Readonly<Record<string, string>>): string {
    return this.vault.seal(JSON.stringify(headers), connectionHeaders.contextOf(connectionId));
  }

  sealStdioEnv(connectionId: string, env: Readonly<Record<string, string>>): string {
    return this.vault.seal(JSON.stringify(env), connectionStdioEnv.contextOf(connectionId));
  }

  sealClientSecret(connectionId: string, secret: string): string {
    return this.vault.seal(secret, connectionOauthClientSecret.contextOf(connectionId));
  }

  /** The client secret of an OAuth connection; undefined if none is stored. Throws as `open` does. */
  openClientSecret({ id, sealed }: { id: string; sealed: SealedCredentials }): string | undefined {
    const { oauthClientSecret } = sealed;
    return oauthClientSecret === null
      ? undefined
      : this.vault.open(oauthClientSecret, connectionOauthClientSecret.contextOf(id));
  }

  /**
   * The decrypted credentials, for a request that is about to send them.
   * @throws what `VaultService.open` throws, when the key is missing or the row was tampered with
   */
  open({ id, sealed }: { id: string; sealed: SealedCredentials }): ConnectionCredentials {
    const headers = this.openHeaders(id, sealed.headers);
    return sealed.token === null
      ? { headers }
      : { headers, bearerToken: this.vault.open(sealed.token, connectionToken.contextOf(id)) };
  }

  openHeaders(connectionId: string, sealed: string | null): Record<string, string> {
    return this.openMap(sealed, connectionHeaders.contextOf(connectionId));
  }

  /** The environment of a STDIO connection's program; throws as `open` does. */
  openStdioEnv(connectionId: string, sealed: string | null): Record<string, string> {
    return this.openMap(sealed, connectionStdioEnv.contextOf(connectionId));
  }

  private openMap(sealed: string | null, context: string): Record<string, string> {
    if (sealed === null) return {};
    // The envelope is authentic, so it contains the map that was sealed.
    return JSON.parse(this.vault.open(sealed, context)) as Record<string, string>;
  }
}
