import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newId } from '../../../core/ids.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { UpstreamClient } from './client-assertion.js';
import { UpstreamClientEntity } from './upstream-client.entity.js';

/** Where a client is registered, and with which redirect URI. */
interface Registration {
  readonly connectionId: string;
  readonly issuer: string;
  readonly redirectUri: string;
}

/** A configured client is kept only for its issuer. */
type StoredClient = UpstreamClient & { readonly isConfigured?: boolean };

/** The clients that this service has registered, and where a configured one was used. */
@Injectable()
export class UpstreamClientRepository {
  constructor(
    @InjectRepository(UpstreamClientEntity) private readonly rows: Repository<UpstreamClientEntity>,
    private readonly vault: VaultService,
  ) {}

  async find({ connectionId, issuer, redirectUri }: Registration): Promise<UpstreamClient | undefined> {
    const row = await this.rows.findOneBy({ connectionId, issuer, redirectUri });
    const client = row === null ? undefined : this.clientOf(row);
    return client?.isConfigured === true ? undefined : client;
  }

  /** The issuer at which this client was used, if it was configured for the connection then. */
  async findIssuerOf(connectionId: string, client: UpstreamClient): Promise<string | undefined> {
    const rows = await this.rows.findBy({ connectionId });
    const row = rows.find((one) => {
      const { isConfigured, client_id: id, client_secret: secret, private_key: key } = this.clientOf(one);
      const hasSecret = secret === client.client_secret && key === client.private_key;
      return isConfigured === true && id === client.client_id && hasSecret;
    });
    return row?.issuer;
  }

  async save({ connectionId, issuer, redirectUri }: Registration, client: StoredClient): Promise<void> {
    await this.rows.query(
      `INSERT INTO upstream_clients (id, connection_id, issuer, redirect_uri, client) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (connection_id, issuer, redirect_uri) DO UPDATE SET client = excluded.client, created_at = now()`,
      [newId(), connectionId, issuer, redirectUri, this.vault.seal(JSON.stringify(client), contextOf(connectionId))],
    );
  }

  /** Forgets the clients of a connection, which are registered again with the next log-in. */
  async removeAll(connectionId: string): Promise<void> {
    await this.rows.delete({ connectionId });
  }

  private clientOf({ client, connectionId }: UpstreamClientEntity): StoredClient {
    return JSON.parse(this.vault.open(client, contextOf(connectionId))) as StoredClient;
  }
}

function contextOf(connectionId: string): string {
  return SEALED_COLUMNS.upstreamClient.contextOf(connectionId);
}
