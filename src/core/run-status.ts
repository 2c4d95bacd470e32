export const RUN_STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const;
/** `waiting`: tool calls of the run need an approval, and no worker is occupied. */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** The statuses of runs that are not over. */
export const OPEN_RUN_STATUSES = ['queued', 'running', 'waiting'] as const satisfies readonly RunStatus[];

/** The same as an SQL list: `status IN (…)`. */
export const OPEN_RUN_STATUS_LIST = OPEN_RUN_STATUSES.map((status) => `'${status}'`).join(', ');

/** True if a run with this status is not over. */
export function isOpenRunStatus(status: RunStatus): boolean {
  return (OPEN_RUN_STATUSES as readonly RunStatus[]).includes(status);
}
