import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../core/answers/answer-budget.js';
import { DomainError } from '../core/domain-error.js';
import { newId } from '../core/ids.js';
import type { ListInput } from '../core/paging/list-input.js';
import { paginate } from '../core/paging/paginate.js';
import type { Principal } from '../core/principal.js';
import type { ConnectionCreateData, ConnectionItem, ConnectionPage, ConnectionUpdateData } from './connection.dto.js';
import { ConnectionEditor } from './connection-editor.js';
import { toItem } from './connection-item.js';
import { ConnectionPins } from './connection-pins.js';
import { ConnectionRepository } from './connection.repository.js';
import type { ListSpec } from '../core/paging/list-spec.js';
import { CONNECTION_STATUSES, CONNECTION_TYPES } from './connection.js';

/** The fields that COLLECTION_CONNECTIONS_LIST publishes. */
const CONNECTION_LIST: ListSpec = {
  name: 'connections',
  fields: {
    id: { column: 'connection.id', type: 'uuid' },
    title: { column: 'connection.title', type: 'string' },
    description: { column: 'connection.description', type: 'string', nullable: true },
    connection_type: { column: 'connection.connectionType', type: 'enum', values: CONNECTION_TYPES },
    status: { column: 'connection.status', type: 'enum', values: CONNECTION_STATUSES },
    created_at: { column: 'connection.createdAt', type: 'date' },
    updated_at: { column: 'connection.updatedAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'asc' }],
  rowBytes: `
    1024 + coalesce(octet_length(connection.description), 0) + coalesce(octet_length(connection.connectionUrl), 0)
      + coalesce(octet_length(connection.statusReason), 0) + coalesce(octet_length(connection.connectionToken), 0)
      + coalesce(octet_length(connection.connectionHeaders), 0) + coalesce(octet_length(connection.stdioEnv), 0)
      + json_octets(connection.connectionHeaderNames) + json_octets(connection.stdio) + json_octets(connection.stdioEnvNames)`,
  tieBreaker: 'id',
};

/**
 * Creates, reads, updates and deletes connections. Each belongs to one organization, and its secrets are write-only.
 */
@Injectable()
export class ConnectionService {
  constructor(
    private readonly repository: ConnectionRepository,
    private readonly editor: ConnectionEditor,
    private readonly pins: ConnectionPins,
  ) {}

  /** Connections of every type: agents are listed as VIRTUAL. */
  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ConnectionPage> {
    const query = this.repository.queryOfOrganization(caller.organization.id);
    const page = await paginate(query, CONNECTION_LIST, input, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  /** @throws DomainError `not_found` */
  async get(id: string, caller: Principal): Promise<ConnectionItem> {
    const connection = await this.repository.findOfOrganization(caller.organization.id, id);
    if (connection === null) throw unknownConnection();
    return toItem(connection);
  }

  /** @throws DomainError `invalid_request`, `address_refused` or `permission_denied` */
  async create(data: ConnectionCreateData, caller: Principal): Promise<ConnectionItem> {
    const id = newId();
    const connection = await this.repository.insert({
      id,
      organizationId: caller.organization.id,
      connectionType: data.connection_type,
      title: data.title,
      ...this.editor.newColumns(id, data, caller),
    });
    await this.pins.begin(connection, caller.userId);
    return toItem(connection);
  }

  /** @throws DomainError `not_found`, `invalid_request`, `address_refused` or `permission_denied` */
  async update(id: string, data: ConnectionUpdateData, caller: Principal): Promise<ConnectionItem> {
    const connection = await this.repository.updateOfOrganization(caller.organization.id, id, (stored) =>
      this.editor.changedColumns(stored, data, caller),
    );
    if (connection === null) throw unknownConnection();
    await this.pins.begin(connection, caller.userId);
    return toItem(connection);
  }

  /** Deletes the connection, and the agent of a VIRTUAL connection. @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<ConnectionItem> {
    const item = await this.get(id, caller);
    if (!(await this.repository.deleteOfOrganization(caller.organization.id, id))) throw unknownConnection();
    return item;
  }
}

function unknownConnection(): DomainError {
  return new DomainError('not_found', 'There is no connection with this id in the organization.');
}
