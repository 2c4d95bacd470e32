import { type Filters, useFilters } from '../../api/filters.js';
import { allOf, type Condition, contains, equals } from '../../api/queries.js';
import { useTimeCondition } from './time-range.js';

/** How a call came in, by the words of the API. */
export const DOORS: Readonly<Record<string, string>> = {
  proxy: 'MCP, one connection',
  gateway: 'MCP, an agent',
  legacy: 'MCP, old address',
  call_tool: 'streamed call',
  self: 'MCP, management',
  api: 'HTTP API',
  run: 'run of an agent',
};

const FIELDS = [
  ['status', 'status'],
  ['door', 'door'],
  ['connection', 'connection_id'],
  ['agent', 'agent_id'],
  ['key', 'api_key_id'],
  ['person', 'user_id'],
] as const;

/** Which calls are shown (`?calls=`): without it, calls of the servers' tools. Management calls are often the most. */
export const CALL_KINDS = [
  { value: '', label: 'Connections' },
  { value: 'management', label: 'Management' },
  { value: 'all', label: 'Everything' },
] as const;

/** Only management calls come in these ways. */
const MANAGEMENT_DOORS: readonly (string | undefined)[] = ['api', 'self'];

function kindCondition({ calls, door }: Filters): Condition | undefined {
  if (calls === 'all' || (!calls && MANAGEMENT_DOORS.includes(door))) return undefined;
  return { field: ['management'], operator: 'eq', value: calls === 'management' };
}

/** The filters in the address as a condition of MONITORING_LOGS_LIST; undefined for none. */
export function useCallCondition(): Condition | undefined {
  const [filters] = useFilters();
  const time = useTimeCondition();
  return allOf(
    ...FIELDS.map(([name, field]) => equals(field, filters[name])),
    contains(filters['tool'], 'tool_name'),
    time,
    kindCondition(filters),
  );
}
