import type { ListItem } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';

export type Connection = ListItem<'COLLECTION_CONNECTIONS_LIST'>;

/**
 * Connections (and agents) by id, such as those of one agent. Absent: deleted, or not read yet.
 * @param ids at most 1000
 */
export function useConnectionsById(ids: readonly string[]): ReadonlyMap<string, Connection> {
  const where = { field: ['id'], operator: 'in', value: ids.toSorted() };
  const { data } = useTool('COLLECTION_CONNECTIONS_LIST', { limit: 1000, where }, { isEnabled: ids.length > 0 });
  return new Map(data?.items.map((connection) => [connection.id, connection]));
}
