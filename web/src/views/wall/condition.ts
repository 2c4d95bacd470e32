import type { ToolOutput } from '../../../../packages/client/src/api.js';
import type { State } from '../../ui/state.js';

/** How things are, in a word or two. */
export interface Condition {
  readonly state: State;
  readonly words: string;
}

/**
 * The worst that is known: no service, then failed runs, then approvals that wait.
 * @param waiting approvals that somebody can answer now
 */
export function conditionOf({
  isAway,
  runs,
  waiting = 0,
}: {
  readonly isAway: boolean;
  readonly runs: Pick<ToolOutput<'RUN_STATS'>['total'], 'failed'> | undefined;
  readonly waiting: number | undefined;
}): Condition {
  if (isAway) return { state: 'failed', words: 'The service does not answer' };
  if (runs === undefined) return { state: 'off', words: 'Nothing is known yet' };
  if (runs.failed > 0)
    return { state: 'failed', words: runs.failed === 1 ? '1 run failed' : `${runs.failed} runs failed` };
  if (waiting > 0) {
    return { state: 'waiting', words: waiting === 1 ? '1 approval waits' : `${waiting} approvals wait` };
  }
  return { state: 'ready', words: 'No run failed' };
}
