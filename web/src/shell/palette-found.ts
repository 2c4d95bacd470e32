import { allOf, type Condition, useList, useTool } from '../api/queries.js';
import { isUuid } from '../api/uuid.js';
import { useOrganization } from '../session/organization.js';
import type { Place } from './navigation.js';

const FOUND = 6;
const MIN_LENGTH = 2;
const NO_AGENTS: Condition = {
  operator: 'not',
  conditions: [{ field: ['connection_type'], operator: 'eq', value: 'VIRTUAL' }],
};

export interface FoundGroup {
  readonly heading: string;
  readonly places: readonly (Place & { readonly id: string; readonly title: string; readonly note?: string })[];
}

/** What the service has with this text in its name, or with this id: a few of each kind, with one request per kind. */
export function usePaletteFound(typed: string): {
  readonly groups: readonly FoundGroup[];
  readonly isSearching: boolean;
} {
  const { may } = useOrganization();
  const text = typed.trim();
  const isLong = text.length >= MIN_LENGTH;
  const isId = isUuid(text);
  const named = (field: string, id: string | undefined = isId ? 'id' : undefined): Condition => {
    const contains: Condition = { field: [field], operator: 'contains', value: text };
    return id === undefined
      ? contains
      : { operator: 'or', conditions: [contains, { field: [id], operator: 'eq', value: text }] };
  };
  const request = (where: Condition | undefined) => ({ where, limit: FOUND, count_limit: FOUND });
  const agents = useList('COLLECTION_VIRTUAL_MCP_LIST', request(named('title')), {
    isEnabled: isLong && may('COLLECTION_VIRTUAL_MCP_LIST'),
  });
  const connections = useList('COLLECTION_CONNECTIONS_LIST', request(allOf(named('title'), NO_AGENTS)), {
    isEnabled: isLong && may('COLLECTION_CONNECTIONS_LIST'),
  });
  const isTools = isLong && !isId && may('ACCESS_TOOLS_LIST');
  const tools = useTool('ACCESS_TOOLS_LIST', { search: text, limit: FOUND }, { isEnabled: isTools });
  const isThreads = isLong && may('COLLECTION_THREADS_LIST');
  const threads = useList('COLLECTION_THREADS_LIST', request(named('title', 'id')), { isEnabled: isThreads });
  const keys = useList('API_KEY_LIST', request(named('name')), { isEnabled: isLong && may('API_KEY_LIST') });
  const isRuns = isId && may('RUN_LIST');
  const runs = useList('RUN_LIST', request({ field: ['id'], operator: 'eq', value: text }), { isEnabled: isRuns });
  const mayRun = may('COLLECTION_THREADS_CREATE');
  const searches = [agents.query, connections.query, tools, threads.query, keys.query, runs.query];
  if (!isLong) return { groups: [], isSearching: false };
  const groups: readonly FoundGroup[] = [
    {
      heading: 'Agents',
      places: agents.rows.flatMap(({ id, title }) => [
        { id: `agent ${id}`, title, path: `agents/${id}` },
        ...(mayRun
          ? [{ id: `run ${id}`, title: `Run ${title}`, note: 'playground', path: 'playground', search: { agent: id } }]
          : []),
      ]),
    },
    {
      heading: 'Connections',
      places: connections.rows.map(({ id, title }) => ({ id, title, path: `connections/${id}` })),
    },
    {
      heading: 'Tools',
      places: (isTools ? (tools.data?.items ?? []) : []).map(
        ({ name, connection_id: id, connection_title: title }) => ({
          id: `tool ${id} ${name}`,
          title: name,
          note: title,
          path: `connections/${id}`,
          search: { tab: 'tools', tool: name },
        }),
      ),
    },
    {
      heading: 'Threads',
      places: threads.rows.map(({ id, title }) => ({
        id: `thread ${id}`,
        title,
        path: `threads/${encodeURIComponent(id)}`,
      })),
    },
    {
      heading: 'Keys',
      places: keys.rows.map(({ id, name, prefix }) => ({
        id: `key ${id}`,
        title: name,
        note: `${prefix}…`,
        path: 'keys',
        search: { key: id },
      })),
    },
    {
      heading: 'Runs',
      places: (isRuns ? runs.rows : []).map(({ id, question }) => ({
        id: `run ${id}`,
        title: question ?? id,
        path: `runs/${id}`,
      })),
    },
  ];
  return {
    groups: groups.filter(({ places }) => places.length > 0),
    isSearching: searches.some(({ isFetching }) => isFetching),
  };
}
