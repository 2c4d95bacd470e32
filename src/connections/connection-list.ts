import type { ListSpec } from '../common/paging/list-spec.js';
import { CONNECTION_STATUSES, CONNECTION_TYPES } from './connection.js';

/** What COLLECTION_CONNECTIONS_LIST publishes. */
export const CONNECTION_LIST: ListSpec = {
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
