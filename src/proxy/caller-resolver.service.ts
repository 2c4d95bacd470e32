import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AgentComposition } from '../agents/composition/agent-composition.service.js';
import { isListed } from '../agents/composition/composition.js';
import { DomainError } from '../common/domain-error.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import { ToolCatalog } from '../upstreams/catalog/tool-catalog.service.js';
import { ProxyCaller } from './proxy-caller.js';

/** What the path of a request names. */
interface Wanted {
  /** Absent on the legacy paths. */
  readonly org: string | undefined;
  readonly id: string;
  readonly mustBeAgent: boolean;
}

/** Finds out who calls which connection. */
@Injectable()
export class CallerResolver {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly catalog: ToolCatalog,
    private readonly compositions: AgentComposition,
  ) {}

  /** @throws DomainError `not_found`, or `credential_missing` where a credential would be needed */
  async resolve(request: FastifyRequest): Promise<ProxyCaller> {
    const { org, connectionId, virtualMcpId } = request.params as Partial<Record<string, string>>;
    const wanted = { org, id: connectionId ?? virtualMcpId ?? '', mustBeAgent: virtualMcpId !== undefined };
    const { principal } = request;
    if (principal === undefined) return this.anonymous(wanted, request.id);
    const connection = await this.directory.find(principal.organization.id, wanted.id);
    if (connection === undefined || !isKind(connection, wanted)) {
      const kind = wanted.mustBeAgent ? 'agent' : 'connection';
      throw new DomainError('not_found', `There is no ${kind} with this id in the organization.`);
    }
    return new ProxyCaller(principal, connection, request.id);
  }

  /** Whatever is missing, the answer is the same: it must not tell which connections exist. */
  private async anonymous(wanted: Wanted, requestId: string): Promise<ProxyCaller> {
    const { org, id } = wanted;
    const connection = await this.directory.findAnywhere(id);
    const isMeant =
      connection !== undefined &&
      isKind(connection, wanted) &&
      (org === undefined || connection.organizationSlug === org);
    if (!isMeant || connection.publicTools === 'ignore' || connection.status === 'inactive') throw credentialMissing();
    const hasPublicTools = await this.hasPublicTools(connection).catch(() => false);
    if (!hasPublicTools) throw credentialMissing();
    return new ProxyCaller(undefined, connection, requestId);
  }

  private async hasPublicTools(connection: Connection): Promise<boolean> {
    if (connection.type !== 'VIRTUAL') return (await this.catalog.fresh(connection)).hasPublic;
    const { places } = await this.compositions.of(connection);
    return [...places.values()].some((place) => isListed(place) && place.isPublic);
  }
}

function isKind({ type }: Connection, { mustBeAgent }: Wanted): boolean {
  return !mustBeAgent || type === 'VIRTUAL';
}

export function credentialMissing(): DomainError {
  return new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
}
