import { HELD_PER_JSON_BYTE } from '../../core/answers/answer-budget.js';
import { LAST_REQUEST_ORDINAL, MESSAGE_BYTES } from './message.entity.js';

/** Limits the history of one run, whatever its agent allows: small enough for many concurrent runs. */
export const MAX_HISTORY_BYTES = 2_097_152;

/** Converts an agent's limit in tokens: a rough estimate that holds for most texts and models. */
const BYTES_PER_TOKEN = 4;

/** The share of the heap for the histories of all runs of a process. */
const SHARE_OF_HEAP = 4;

/** The largest history of each of this many concurrent runs, in bytes of JSON text. */
export function historyBytesFor(heapBytes: number, runs: number): number {
  return Math.min(MAX_HISTORY_BYTES, Math.floor(heapBytes / SHARE_OF_HEAP / HELD_PER_JSON_BYTE / runs));
}

/**
 * The conversation of a run, newest first: the messages of its own request, whatever their size, and the newest earlier
 * runs that fit into the limits. A run is included with its request and its answer or not at all, so that every answer
 * follows its question. The run before is included even if it exceeds the agent's tokens, since a model receives large
 * tool outputs cut. Sizes are summed before any message is unpacked, and no message beyond the agent's limit is read.
 * The limits come from the agent in the same round trip. Superseded messages are left out, and those that
 * steer the run itself. An answer to a question that
 * was answered again belongs to that question, the latest request before it. Values: organization, thread, position of
 * the request, id of the run's own answer, agent, maximum bytes.
 */
export const HISTORY = {
  name: 'transcript_history',
  text: `
    WITH allowed AS (
      SELECT coalesce(max(history_max_messages), 0) AS messages,
             least($6, max(history_max_tokens)::bigint * ${BYTES_PER_TOKEN}) AS bytes
        FROM agents WHERE id = $5
    )
    SELECT id, role, parts, metadata, run_position = $3 AS "isRequest" FROM (
      SELECT id, role, parts, metadata, run_position, ordinal,
             dense_rank() OVER newer AS rank,
             count(*) FILTER (WHERE turn IS DISTINCT FROM $3::bigint) OVER newer AS messages,
             sum(${MESSAGE_BYTES}) OVER newer AS bytes
        FROM (
          SELECT *, max(run_position) FILTER (WHERE role <> 'assistant' AND ordinal <= ${LAST_REQUEST_ORDINAL})
                      OVER (ORDER BY run_position, ordinal) AS turn
            FROM (
            SELECT * FROM messages
             WHERE organization_id = $1 AND thread_id = $2 AND run_position = $3 AND id <> $4 AND superseded_by IS NULL
                AND ordinal <= ${LAST_REQUEST_ORDINAL}
             UNION ALL
            (SELECT * FROM messages
              WHERE organization_id = $1 AND thread_id = $2 AND run_position < $3 AND superseded_by IS NULL
              ORDER BY run_position DESC, ordinal DESC LIMIT (SELECT messages FROM allowed) + 1)
          ) near
        ) message
      WINDOW newer AS (ORDER BY turn DESC NULLS LAST)
    ) measured, allowed
     WHERE run_position = $3
        OR measured.messages <= allowed.messages
          AND (measured.bytes <= allowed.bytes OR rank = 2 AND measured.bytes <= $6)
     ORDER BY run_position DESC, ordinal DESC`,
};
