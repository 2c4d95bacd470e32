import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../common/domain-error.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import { ToolCatalog } from '../upstreams/catalog/tool-catalog.service.js';
import { ProxyCaller } from './proxy-caller.js';

/** Finds out who calls which connection. */
@Injectable()
export class CallerResolver {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly catalog: ToolCatalog,
  ) {}

  /** @throws DomainError `not_found`, or `credential_missing` where a credential would be needed */
  async resolve(request: FastifyRequest): Promise<ProxyCaller> {
    const { org, connectionId = '' } = request.params as { org?: string; connectionId?: string };
    const { principal } = request;
    if (principal === undefined) return this.anonymous(org, connectionId, request.id);
    const connection = await this.directory.find(principal.organization.id, connectionId);
    if (connection === undefined) {
      throw new DomainError('not_found', 'There is no connection with this id in the organization.');
    }
    return new ProxyCaller(principal, connection, request.id);
  }

  /** Whatever is missing, the answer is the same: it must not tell which connections exist. */
  private async anonymous(org: string | undefined, connectionId: string, requestId: string): Promise<ProxyCaller> {
    const connection = await this.directory.findAnywhere(connectionId);
    const isMeant = connection !== undefined && (org === undefined || connection.organizationSlug === org);
    if (!isMeant || connection.publicTools === 'ignore' || connection.status === 'inactive') throw credentialMissing();
    const hasPublicTools = await Promise.resolve(this.catalog.of(connection)).then(
      ({ hasPublic }) => hasPublic,
      () => false,
    );
    if (!hasPublicTools) throw credentialMissing();
    return new ProxyCaller(undefined, connection, requestId);
  }
}

export function credentialMissing(): DomainError {
  return new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
}
