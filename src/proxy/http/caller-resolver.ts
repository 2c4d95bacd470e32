import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import { DomainError } from '../../core/domain-error.js';
import { type Connection, connectionFor } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { credentialMissing, ProxyCaller } from '../protocol/proxy-caller.js';
import { OriginPolicy } from './origin-policy.js';

/** The connection that the path of a request names. */
interface RequestedConnection {
  /** Absent on the legacy paths. */
  readonly org: string | undefined;
  readonly id: string;
  readonly mustBeAgent: boolean;
}

/** Determines the caller and the connection of a request. */
@Injectable()
export class CallerResolver {
  /** By request: determined before the body is read, and needed again afterwards. */
  private readonly admitted = new WeakMap<FastifyRequest, ProxyCaller>();

  constructor(
    private readonly origins: OriginPolicy,
    private readonly directory: ConnectionDirectory,
    private readonly catalog: ToolCatalog,
    private readonly compositions: AgentComposition,
  ) {}

  /**
   * @throws DomainError `origin_refused`, `not_found`, or `credential_missing` if the connection needs a credential
   */
  async resolveCaller(request: FastifyRequest): Promise<ProxyCaller> {
    this.origins.requireAllowedOrigin(request.headers);
    const { principal, id } = request;
    if (principal === undefined) return this.admitted.get(request) ?? this.anonymous(requestedBy(request), id);
    const requested = requestedBy(request);
    const found = await this.directory.findConnection(principal.organization.id, requested.id);
    return new ProxyCaller(principal, connectionFor(existing(found, requested), principal.userId), id);
  }

  /**
   * Admits a request without a credential if the connection has public tools.
   * @throws DomainError `origin_refused`, `credential_missing`
   */
  async admitAnonymous(request: FastifyRequest): Promise<void> {
    this.origins.requireAllowedOrigin(request.headers);
    this.admitted.set(request, await this.anonymous(requestedBy(request), request.id));
  }

  /** Every failure gives the same answer, which must not reveal which connections exist. */
  private async anonymous(requested: RequestedConnection, requestId: string): Promise<ProxyCaller> {
    const { org, id } = requested;
    const connection = await this.directory.findAnywhere(id);
    const matches =
      connection !== undefined &&
      isKind(connection, requested) &&
      (org === undefined || connection.organizationSlug === org);
    if (!matches || connection.publicTools === 'ignore' || connection.status === 'inactive') throw credentialMissing();
    const hasPublicTools = await this.hasPublicTools(connection).catch(() => false);
    if (!hasPublicTools) throw credentialMissing();
    return new ProxyCaller(undefined, connection, requestId);
  }

  private async hasPublicTools(connection: Connection): Promise<boolean> {
    if (connection.type !== 'VIRTUAL') return (await this.catalog.fresh(connection)).hasPublic;
    return (await this.compositions.compositionOf(connection)).hasPublic;
  }
}

function requestedBy({ params }: FastifyRequest): RequestedConnection {
  const { org, connectionId, virtualMcpId } = params as Partial<Record<string, string>>;
  return { org, id: connectionId ?? virtualMcpId ?? '', mustBeAgent: virtualMcpId !== undefined };
}

/** @throws DomainError `not_found` */
function existing(connection: Connection | undefined, requested: RequestedConnection): Connection {
  if (connection !== undefined && isKind(connection, requested)) return connection;
  const kind = requested.mustBeAgent ? 'agent' : 'connection';
  throw new DomainError('not_found', `There is no ${kind} with this id in the organization.`);
}

function isKind({ type }: Connection, { mustBeAgent }: RequestedConnection): boolean {
  return !mustBeAgent || type === 'VIRTUAL';
}
