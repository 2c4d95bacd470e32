import type { ToolOutput } from '../../../../packages/client/src/api.js';

/** How things are, in a word or two, and what it looks like. */
export interface Condition {
  readonly kind: 'unknown' | 'well' | 'waiting' | 'failing';
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
  if (isAway) return { kind: 'failing', words: 'The service does not answer' };
  if (runs === undefined) return { kind: 'unknown', words: 'Nothing is known yet' };
  if (runs.failed > 0)
    return { kind: 'failing', words: runs.failed === 1 ? '1 run failed' : `${runs.failed} runs failed` };
  if (waiting > 0) {
    return { kind: 'waiting', words: waiting === 1 ? '1 approval waits' : `${waiting} approvals wait` };
  }
  return { kind: 'well', words: 'No run failed' };
}
