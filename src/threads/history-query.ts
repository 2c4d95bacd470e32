import { HELD_PER_JSON_BYTE } from '../common/answers/answer-budget.js';
import { MESSAGE_BYTES } from './message.entity.js';

/** Limits the history of one run: more than most models' contexts, and small enough for many concurrent runs. */
export const MAX_HISTORY_MESSAGES = 1000;
export const MAX_HISTORY_BYTES = 2_097_152;

/** The share of the heap for the histories of all runs of a process. */
const SHARE_OF_HEAP = 4;

/** The largest history of each of this many concurrent runs, in bytes of JSON text. */
export function historyBytesFor(heapBytes: number, runs: number): number {
  return Math.min(MAX_HISTORY_BYTES, Math.floor(heapBytes / SHARE_OF_HEAP / HELD_PER_JSON_BYTE / runs));
}

/**
 * The conversation of a run, newest first: the messages of its own request, whatever their size, and the newest earlier
 * runs that fit into both limits. A run is included with its request and its answer or not at all, so that every answer
 * follows its question. Sizes are summed before any message is unpacked. Values: organization, thread, position of the
 * run, id of its own answer, maximum messages, maximum bytes.
 */
export const HISTORY = {
  name: 'transcript_history',
  text: `
    SELECT id, role, parts, metadata, run_id AS "runId" FROM (
      SELECT id, role, parts, metadata, run_id, run_position, ordinal,
             count(*) OVER newer AS messages, sum(${MESSAGE_BYTES}) OVER newer AS bytes
        FROM (
          SELECT * FROM messages
           WHERE organization_id = $1 AND thread_id = $2 AND run_position <= $3 AND id <> $4
           ORDER BY run_position DESC, ordinal DESC LIMIT $5 + 1
        ) message
      WINDOW newer AS (ORDER BY run_position DESC)
    ) measured
     WHERE run_position = $3 OR (messages <= $5 AND bytes <= $6)
     ORDER BY run_position DESC, ordinal DESC`,
};
