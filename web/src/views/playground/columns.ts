import type { Filters } from '../../api/filters.js';

/** More would be too narrow to read. */
export const MAX_COLUMNS = 3;

/** One of the chats that stand side by side. */
export interface Column {
  readonly agentId: string;
  /** Undefined until its first message is sent. */
  readonly threadId?: string | undefined;
  readonly tier?: string | undefined;
  readonly temperature?: string | undefined;
}

/** The names of a column's parts in the address; those of the first have no number. */
export function namesOf(column: number) {
  const suffix = column === 1 ? '' : column;
  return {
    agent: `agent${suffix}`,
    thread: `thread${suffix}`,
    tier: `tier${suffix}`,
    temperature: `temperature${suffix}`,
    trace: `trace${suffix}`,
  };
}

const NUMBERS = Array.from({ length: MAX_COLUMNS }, (_each, index) => index + 1);

/** The columns of the address (`?agent=…&thread=…&agent2=…&tier2=…`), up to the first without an agent. */
export function columnsOf(filters: Filters): Column[] {
  const columns = NUMBERS.map((number) => {
    const { agent, thread, tier, temperature } = namesOf(number);
    return {
      agentId: filters[agent] ?? '',
      threadId: filters[thread],
      tier: filters[tier],
      temperature: filters[temperature],
    };
  });
  const end = columns.findIndex(({ agentId }) => agentId === '');
  return end < 0 ? columns : columns.slice(0, end);
}

/** The part of an address that has these columns and no others. None of them shows a trace. */
export function searchOf(columns: readonly Column[]): Filters {
  return Object.fromEntries(
    NUMBERS.flatMap((number) => {
      const names = namesOf(number);
      const column = columns[number - 1];
      return [
        [names.agent, column?.agentId],
        [names.thread, column?.threadId],
        [names.tier, column?.tier],
        [names.temperature, column?.temperature],
        [names.trace, undefined],
      ];
    }),
  );
}
