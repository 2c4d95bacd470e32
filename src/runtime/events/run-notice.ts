/** What every process is told about a run, for the one that executes it. */
export type RunNotice =
  | { readonly type: 'cancel'; readonly runId: string }
  /** Messages wait for the run. `interrupts`: the current step ends at once. */
  | { readonly type: 'steer'; readonly runId: string; readonly steerId: string; readonly interrupts: boolean };

/** The wire form: the id of a cancelled run, or `<run id> <steer id> <1 if it interrupts, otherwise 0>`. */
export function encodeNotice(notice: RunNotice): string {
  if (notice.type === 'cancel') return notice.runId;
  return `${notice.runId} ${notice.steerId} ${notice.interrupts ? 1 : 0}`;
}

export function decodeNotice(payload: string): RunNotice {
  const [runId = '', steerId, interrupts] = payload.split(' ');
  return steerId === undefined
    ? { type: 'cancel', runId }
    : { type: 'steer', runId, steerId, interrupts: interrupts === '1' };
}
