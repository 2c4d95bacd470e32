import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../core/answers/answer-budget.js';
import { newId } from '../core/ids.js';
import type { ListInput } from '../core/paging/list-input.js';
import { paginate } from '../core/paging/paginate.js';
import type { Principal } from '../core/principal.js';
import {
  type ConnectionCreateData,
  type ConnectionItem,
  type ConnectionPage,
  type ConnectionUpdateData,
  type ConnectionAuthItem,
  MASK,
  type StdioItem,
} from './connection.dto.js';
import { ConnectionEditor } from './connection-editor.js';
import { ConnectionPins } from './connection-pins.js';
import { ConnectionRepository } from './connection.repository.js';
import type { ListSpec } from '../core/paging/list-spec.js';
import {
  CONNECTION_STATUSES,
  CONNECTION_TYPES,
  type AuthType,
  type OauthSettings,
  unknownConnection,
} from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';

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

/**
 * The connection as returned to callers. It shows which secrets exist (headers and environment variables by name),
 * never their values.
 */
function toItem(connection: ConnectionEntity): ConnectionItem {
  return {
    id: connection.id,
    title: connection.title,
    description: connection.description,
    connection_type: connection.connectionType,
    connection_url: connection.connectionUrl,
    connection_token: connection.connectionToken === null ? null : MASK,
    auth: toAuth(connection),
    connection_headers:
      connection.connectionHeaders === null ? null : { headers: masked(connection.connectionHeaderNames) },
    stdio: toStdio(connection),
    timeout: connection.timeout,
    status: connection.status,
    status_reason: connection.statusReason,
    status_since: connection.statusSince?.toISOString() ?? null,
    public_tools: connection.publicTools,
    rate_limit: connection.rateLimit,
    shared_state: connection.sharedState,
    pin: connection.pin,
    tools_refreshed_at: connection.toolsRefreshedAt?.toISOString() ?? null,
    tool_count: connection.toolCount,
    import_name: connection.importName,
    created_at: connection.createdAt.toISOString(),
    updated_at: connection.updatedAt.toISOString(),
  };
}

function toAuth({
  connectionType,
  oauth,
  oauthClientSecret,
  connectionToken,
}: ConnectionEntity): ConnectionAuthItem | null {
  if (connectionType !== 'HTTP') return null;
  if (oauth === null) {
    const type = connectionToken === null ? 'none' : 'token';
    return { type, account: 'connection', scope: null, client_id: null, client_secret: null, private_key: null };
  }
  const { machine, account, scope, clientId } = oauth;
  const secret = oauthClientSecret === null ? null : MASK;
  const hasKey = machine === 'private_key';
  return {
    type: oauthTypeOf(oauth),
    account,
    scope,
    client_id: clientId,
    client_secret: hasKey ? null : secret,
    private_key: hasKey ? secret : null,
  };
}

function oauthTypeOf({ isEnterprise, machine }: OauthSettings): AuthType {
  if (machine !== undefined) return 'client_credentials';
  return isEnterprise === true ? 'enterprise' : 'oauth';
}

function toStdio({ stdio, stdioEnvNames }: ConnectionEntity): StdioItem | null {
  if (stdio === null) return null;
  const { command, args, cwd } = stdio;
  return { command, args: [...args], env: masked(stdioEnvNames), cwd };
}

function masked(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, MASK]));
}
