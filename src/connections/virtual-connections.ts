import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import type { HeldAnswer } from '../core/answers/answer-budget.js';
import type { ListInput } from '../core/paging/list-input.js';
import type { ListSpec } from '../core/paging/list-spec.js';
import { type Page, paginate } from '../core/paging/paginate.js';
import type { SqlClause } from '../core/paging/where-clause.js';
import { requireRoom } from '../platform/database/organization-locks.js';
import { CONNECTION_STATUSES, type ConnectionStatus, MAX_CONNECTIONS } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionEntity } from './connection.entity.js';

/** The columns of an agent that are stored as a connection. */
export interface VirtualConnection {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly status: ConnectionStatus;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const VIRTUAL = { connectionType: 'VIRTUAL' } as const;

/** The fields that COLLECTION_VIRTUAL_MCP_LIST publishes. */
const VIRTUAL_LIST: ListSpec = {
  name: 'virtual-mcp',
  fields: {
    id: { column: 'connection.id', type: 'uuid' },
    title: { column: 'connection.title', type: 'string' },
    description: { column: 'connection.description', type: 'string', nullable: true },
    status: { column: 'connection.status', type: 'enum', values: CONNECTION_STATUSES },
    created_at: { column: 'connection.createdAt', type: 'date' },
    updated_at: { column: 'connection.updatedAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'asc' }],
  tieBreaker: 'id',
};

/**
 * The rows of `connections` that belong to agents. Writes take part in the transaction of the given manager, because an
 * agent's connection is written together with its settings.
 */
@Injectable()
export class VirtualConnections {
  constructor(
    @InjectRepository(ConnectionEntity) private readonly connections: Repository<ConnectionEntity>,
    private readonly changes: ConnectionChanges,
  ) {}

  find(manager: EntityManager, organizationId: string, id: string): Promise<VirtualConnection | null> {
    return manager.findOneBy(ConnectionEntity, { ...VIRTUAL, organizationId, id });
  }

  /** Until the transaction ends, no other one changes or deletes the row. False if there is no such agent. */
  async hold(manager: EntityManager, organizationId: string, id: string): Promise<boolean> {
    const held = await manager.find(ConnectionEntity, {
      select: { id: true },
      where: { ...VIRTUAL, organizationId, id },
      // Weak enough for transactions that refer to the row, such as those of agents that contain this one.
      lock: { mode: 'for_no_key_update' },
    });
    return held.length > 0;
  }

  /**
   * @param agents SQL about the agent whose id is `connection.id`: the bytes that the caller reads of it, and which
   *   agents to list
   */
  list(
    organizationId: string,
    input: ListInput,
    answer: HeldAnswer,
    agents: { readonly bytes: string; readonly condition?: SqlClause },
  ): Promise<Page<VirtualConnection>> {
    const query = this.connections.createQueryBuilder('connection').where({ ...VIRTUAL, organizationId });
    const { bytes, condition } = agents;
    if (condition !== undefined) query.andWhere(condition.sql, condition.parameters);
    const name = `${VIRTUAL_LIST.name} ${JSON.stringify(condition?.parameters ?? {})}`;
    const rowBytes = `1024 + coalesce(octet_length(connection.description), 0) + ${bytes}`;
    return paginate(query, { ...VIRTUAL_LIST, name, rowBytes }, input, answer);
  }

  /** @throws DomainError `limit_reached` */
  async insert(
    manager: EntityManager,
    connection: { organizationId: string } & Pick<VirtualConnection, 'id' | 'title' | 'description' | 'status'>,
  ): Promise<void> {
    await requireRoom(manager, ConnectionEntity, connection.organizationId, MAX_CONNECTIONS);
    await manager.insert(ConnectionEntity, { ...VIRTUAL, ...connection });
  }

  /**
   * Writes the properties that are not undefined, updates the modification time, and locks the row until the
   * transaction ends. A new status replaces the one that a check found. Returns false if there is no such agent.
   */
  async update(
    manager: EntityManager,
    organizationId: string,
    id: string,
    change: Partial<Pick<VirtualConnection, 'title' | 'description' | 'status'>>,
  ): Promise<boolean> {
    const statusReason = change.status === undefined ? undefined : null;
    const columns = { ...change, statusReason, updatedAt: () => 'now()' };
    const result = await manager.update(ConnectionEntity, { ...VIRTUAL, organizationId, id }, columns);
    this.changes.changed(id);
    return result.affected === 1;
  }

  /** The connections among these that the organization has. They cannot be deleted until the transaction ends. */
  async holdExisting(manager: EntityManager, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
    const held = await manager.find(ConnectionEntity, {
      select: { id: true },
      where: { organizationId, id: In(ids) },
      // A fixed order, so that transactions that lock several rows cannot deadlock.
      order: { id: 'ASC' },
      lock: { mode: 'for_key_share' },
    });
    return new Set(held.map(({ id }) => id));
  }

  async delete(organizationId: string, id: string): Promise<boolean> {
    const result = await this.connections.delete({ ...VIRTUAL, organizationId, id });
    this.changes.changed(id);
    return result.affected === 1;
  }
}
