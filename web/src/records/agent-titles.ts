import { useMemo } from 'react';
import { useList } from '../api/queries.js';
import { UNREAD_NAME } from '../pick/choices.js';
import { useOrganization } from '../session/organization.js';

/** Reads the titles of these agents with one request. The function returns the id of an agent that has none to read. */
export function useAgentTitles(ids: readonly string[]): (id: string) => string {
  const { may } = useOrganization();
  const wanted = [...new Set(ids)].sort();
  const { rows, query } = useList(
    'COLLECTION_VIRTUAL_MCP_LIST',
    { limit: Math.max(wanted.length, 1), where: { field: ['id'], operator: 'in', value: wanted } },
    { isEnabled: wanted.length > 0 && may('COLLECTION_VIRTUAL_MCP_LIST') },
  );
  const isReading = query.isLoading || query.isPlaceholderData;
  return useMemo(() => {
    const titles = new Map(rows.map(({ id, title }) => [id, title]));
    return (id: string) => titles.get(id) ?? (isReading ? UNREAD_NAME : id);
  }, [rows, isReading]);
}
