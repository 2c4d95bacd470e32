import { Injectable } from '@nestjs/common';
import type { Connection, ConnectionStatus } from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';
import { ConnectionRepository } from './connection.repository.js';

/** `connections.status_reason` */
const MAX_REASON_LENGTH = 1000;

/** Where other modules look connections up, and leave what they learned of them. */
@Injectable()
export class ConnectionDirectory {
  constructor(private readonly repository: ConnectionRepository) {}

  /** @param id a UUID */
  async find(organizationId: string, id: string): Promise<Connection | undefined> {
    const connection = await this.repository.findOfOrganization(organizationId, id);
    return connection === null ? undefined : toConnection(connection);
  }

  /** Those of the connections that are in the organization, in no particular order. */
  async findAll(organizationId: string, ids: readonly string[]): Promise<Connection[]> {
    const connections = await this.repository.findAllOfOrganization(organizationId, ids);
    return connections.map(toConnection);
  }

  /** Connection id → names of the tools as last listed; connections that never listed any are absent. */
  lastKnownToolNames(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.repository.findToolNames(ids);
  }

  /** Keeps the tools that the upstream has just listed. */
  rememberTools({ id, revision }: Connection, tools: readonly { name: string }[]): Promise<void> {
    return this.repository.saveTools(id, revision, tools);
  }

  /** Records a check: `error` with a sentence for people, or none when the connection works. */
  recordHealth({ id, revision }: Connection, fault: string | undefined): Promise<void> {
    const status: Exclude<ConnectionStatus, 'inactive'> = fault === undefined ? 'active' : 'error';
    return this.repository.saveHealth(id, revision, status, fault?.slice(0, MAX_REASON_LENGTH) ?? null);
  }
}

function toConnection(connection: ConnectionEntity): Connection {
  return {
    id: connection.id,
    organizationId: connection.organizationId,
    type: connection.connectionType,
    title: connection.title,
    status: connection.status,
    url: connection.connectionUrl,
    timeoutMs: connection.timeout,
    revision: connection.revision,
    sealed: { token: connection.connectionToken, headers: connection.connectionHeaders },
  };
}
