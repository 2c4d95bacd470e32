import { allOf, type Condition } from '../api/queries.js';

/** By how much the clocks of the service's processes may differ. */
export const CLOCKS_DIFFER_MS = 60_000;

/**
 * Selects the records of a run's tool calls. Its time keeps the search from the rest of the record.
 * @param from when the run began, in milliseconds since 1970
 * @param until when it ended, if it has
 */
export function recordsOfRun(runId: string, from: number, until: number | undefined): Condition | undefined {
  const at = (operator: 'gte' | 'lte', time: number): Condition => ({
    field: ['at'],
    operator,
    value: new Date(time).toISOString(),
  });
  return allOf(
    { field: ['run_id'], operator: 'eq', value: runId },
    at('gte', from - CLOCKS_DIFFER_MS),
    until === undefined ? undefined : at('lte', until + CLOCKS_DIFFER_MS),
  );
}
