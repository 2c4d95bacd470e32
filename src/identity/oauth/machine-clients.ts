import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { errors } from 'oidc-provider';
import { DataSource } from 'typeorm';
import type { RequestedResource } from './oauth-resources.js';

/** Clients that act for themselves (`client_credentials`), each with the rights of an API key of its own. */
@Injectable()
export class MachineClients {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Refuses a resource that is not one of the client's organization, or that its key does not open. The answer does not
   * tell what is missing.
   * @throws InvalidTarget
   */
  async requireOwn(resource: RequestedResource, clientId: string): Promise<void> {
    const { path, scope, org, connectionId, isGateway = false } = resource;
    const [found]: object[] = await this.dataSource.query(
      `SELECT FROM oauth_clients client
         JOIN api_keys key ON key.id = client.api_key_id
         JOIN organizations ON organizations.id = client.organization_id
         LEFT JOIN connections ON connections.organization_id = organizations.id AND connections.id = $4
        WHERE client.client_id = $1 AND (key.expires_at IS NULL OR key.expires_at > now())
          AND (key.resource IS NULL OR key.resource = $2)
          AND (key.scope IS NULL OR $6 = ANY (string_to_array(key.scope, ' ')))
          AND ($3::text IS NULL OR organizations.slug = $3)
          AND ($4::uuid IS NULL OR connections.id IS NOT NULL)
          AND (NOT $5 OR connections.connection_type = 'VIRTUAL')`,
      [clientId, path, org ?? null, connectionId ?? null, isGateway, scope],
    );
    if (found === undefined) throw new errors.InvalidTarget('the client opens no resource with this indicator');
  }
}
