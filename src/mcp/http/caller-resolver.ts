import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import { DomainError } from '../../common/domain-error.js';
import { mapMaybePromise } from '../../common/map-maybe-promise.js';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { credentialMissing, ProxyCaller } from '../protocol/proxy-caller.js';

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
  /** By request: they are found out before the body is read, and asked for again afterwards. */
  private readonly admitted = new WeakMap<FastifyRequest, ProxyCaller>();

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly catalog: ToolCatalog,
    private readonly compositions: AgentComposition,
  ) {}

  /**
   * A promise only when something has to be read.
   * @throws DomainError `not_found`, or `credential_missing` where a credential would be needed
   */
  resolve(request: FastifyRequest): ProxyCaller | Promise<ProxyCaller> {
    const { principal, id } = request;
    if (principal === undefined) return this.admitted.get(request) ?? this.anonymous(wantedBy(request), id);
    const wanted = wantedBy(request);
    const found = this.directory.find(principal.organization.id, wanted.id);
    return mapMaybePromise(found, (connection) => new ProxyCaller(principal, existing(connection, wanted), id));
  }

  /**
   * Lets a request without a credential pass if the path leads to public tools.
   * @throws DomainError `credential_missing`
   */
  async admitAnonymous(request: FastifyRequest): Promise<void> {
    this.admitted.set(request, await this.anonymous(wantedBy(request), request.id));
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
    return (await this.compositions.of(connection)).hasPublic;
  }
}

function wantedBy({ params }: FastifyRequest): Wanted {
  const { org, connectionId, virtualMcpId } = params as Partial<Record<string, string>>;
  return { org, id: connectionId ?? virtualMcpId ?? '', mustBeAgent: virtualMcpId !== undefined };
}

/** @throws DomainError `not_found` */
function existing(connection: Connection | undefined, wanted: Wanted): Connection {
  if (connection !== undefined && isKind(connection, wanted)) return connection;
  const kind = wanted.mustBeAgent ? 'agent' : 'connection';
  throw new DomainError('not_found', `There is no ${kind} with this id in the organization.`);
}

function isKind({ type }: Connection, { mustBeAgent }: Wanted): boolean {
  return !mustBeAgent || type === 'VIRTUAL';
}
