import type { UIMessage } from 'ai';
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

/** SQL for the messages of a request, as opposed to its answer and to what steered its run. */
const ASKS = `role <> 'assistant' AND ordinal <= ${LAST_REQUEST_ORDINAL}`;

const IN_THREAD = 'organization_id = $1 AND thread_id = $2 AND superseded_by IS NULL';

/** A message of a thread with its place in it. */
export interface HistoryRow extends Omit<UIMessage, 'metadata' | 'parts'> {
  metadata: unknown;
  /** Null for a message that was not read, because it did not fit. */
  parts: UIMessage['parts'] | null;
  /** The position of its run, as a decimal number. */
  position: string;
  /** It belongs to a request: it is no answer, and did not steer its run. */
  asks: boolean;
  /** Its bytes, as `MESSAGE_BYTES` counts them. */
  size: number;
  /** False if the message and all that is newer exceed the limits. */
  fits: boolean;
}

/**
 * The conversation of a run, newest first: the messages of its own request, whatever their size, and the newest earlier
 * ones. `wholeTurns` keeps what is within the limits. The run before is included even if it exceeds the agent's tokens,
 * since a model receives large tool outputs cut. Sizes are summed before any message is unpacked, and no message beyond
 * the agent's limit is read. The limits come from the agent in the same round trip. Superseded messages are left out,
 * and those that steer the run itself.
 *
 * Each run reads up to hundreds of rows, so each row is kept cheap: they are read, counted and summed in the order of
 * the index, `fits` is decided once (`OFFSET 0`), and metadata comes only with what the agent loop looks for in it: a
 * message that steered an earlier run, and an answer that has found tools.
 *
 * Values: organization, thread, position of the request, id of the run's own answer, agent, maximum bytes.
 */
export const HISTORY = {
  name: 'transcript_history',
  text: `
    WITH allowed AS (
      SELECT coalesce(max(history_max_messages), 0) + (
               SELECT count(*) FROM messages WHERE ${IN_THREAD} AND run_position = $3 AND id <> $4 AND ${ASKS}
             ) AS messages,
             least($6, max(history_max_tokens)::bigint * ${BYTES_PER_TOKEN}) AS bytes
        FROM agents WHERE id = $5
    )
    SELECT id, role, run_position AS position, asks, size, fits,
           CASE WHEN fits THEN parts END AS parts,
           CASE WHEN fits AND CASE role WHEN 'assistant' THEN strpos(metadata::text, '"found_tools"') > 0
                  ELSE ordinal > ${LAST_REQUEST_ORDINAL} END THEN metadata END AS metadata
      FROM (
        SELECT id, role, parts, metadata, run_position, ordinal, size, ${ASKS} AS asks,
               run_position = $3 OR messages <= (SELECT messages FROM allowed)
                 AND (bytes <= (SELECT bytes FROM allowed) OR bytes <= $6 AND run_position >= coalesce((
                   SELECT DISTINCT run_position FROM messages WHERE ${IN_THREAD} AND run_position <= $3 AND ${ASKS}
                    ORDER BY run_position DESC OFFSET 1 LIMIT 1), 0)) AS fits
          FROM (
            SELECT id, role, parts, metadata, run_position, ordinal, ${MESSAGE_BYTES} AS size,
                   row_number() OVER newer AS messages, sum(${MESSAGE_BYTES}) OVER newer AS bytes
              FROM (
                SELECT * FROM messages
                 WHERE ${IN_THREAD} AND run_position <= $3 AND id <> $4
                   AND (run_position < $3 OR ordinal <= ${LAST_REQUEST_ORDINAL})
                 ORDER BY run_position DESC, ordinal DESC LIMIT (SELECT messages FROM allowed) + 1
              ) message
            WINDOW newer AS (ORDER BY run_position DESC, ordinal DESC ROWS UNBOUNDED PRECEDING)
          ) measured
         OFFSET 0
      ) decided
     ORDER BY run_position DESC, ordinal DESC`,
};

/**
 * What a history that is known up to a run lacks: the messages after that run up to the request, newest first, and the
 * agent's limits with each row. The messages of the run itself come without their parts, to be compared with the known
 * ones. One row without a message if there is none; no row without the agent, or if another attempt has ended the run,
 * as after the failover to a database that did not have its end.
 *
 * Values: those of `HISTORY` but the last; the position of the run, its id, and attempt and epoch that have ended it.
 */
export const NEWEST = {
  name: 'transcript_newest',
  text: `
    SELECT history_max_messages AS "maxMessages", history_max_tokens AS "maxTokens", newest.*
      FROM agents LEFT JOIN LATERAL (
        SELECT id, role, run_position AS position, ordinal, ${ASKS} AS asks, ${MESSAGE_BYTES} AS size,
               CASE WHEN run_position > $6 THEN parts END AS parts
          FROM messages AS message
         WHERE ${IN_THREAD} AND run_position BETWEEN $6 AND $3 AND id <> $4
           AND (run_position < $3 OR ordinal <= ${LAST_REQUEST_ORDINAL})
      ) AS newest ON true
     WHERE agents.id = $5 AND EXISTS (SELECT FROM runs WHERE id = $7 AND attempt = $8 AND epoch = $9)
     ORDER BY newest.position DESC, newest.ordinal DESC`,
};

/** An agent's limits of a history. */
interface HistoryLimits {
  readonly maxMessages: number;
  readonly maxTokens: number;
}

/** A row of `NEWEST`. */
export type NewestRow = Pick<HistoryRow, 'role' | 'parts' | 'position' | 'asks' | 'size'> &
  HistoryLimits & {
    /** Null in a row without a message. */
    id: string | null;
  };

/**
 * Decides which messages fit, as `HISTORY` does. Returns them with the newest one that does not, without its parts: none
 * older fits.
 * @param newestFirst beginning with the messages of the request
 * @param position of the request
 */
export function withinLimits(
  newestFirst: readonly HistoryRow[],
  position: string,
  { maxMessages, maxTokens }: HistoryLimits,
  maxBytes: number,
): HistoryRow[] {
  const isOwn = (row: HistoryRow): boolean => row.position === position;
  const most = maxMessages + newestFirst.filter((row) => row.asks && isOwn(row)).length;
  const mostBytes = Math.min(maxBytes, maxTokens * BYTES_PER_TOKEN);
  const before = BigInt(newestFirst.find((row) => row.asks && !isOwn(row))?.position ?? 0);
  const kept: HistoryRow[] = [];
  let bytes = 0;
  for (const row of newestFirst) {
    bytes += row.size;
    const isWithinBytes = bytes <= mostBytes || (bytes <= maxBytes && BigInt(row.position) >= before);
    const fits = isOwn(row) || (kept.length < most && isWithinBytes);
    kept.push(fits && row.fits ? row : { ...row, fits, parts: fits ? row.parts : null });
    if (!fits) break;
  }
  return kept;
}

/**
 * The messages that fit, oldest first. A run is included with its request and its answer or not at all, so that every
 * answer follows its question; the oldest message of both tells whether they fit. An answer to a question that was
 * answered again belongs to that question, the latest request before it.
 * @param newestFirst the rows of `HISTORY`, or of `withinLimits`
 */
export function wholeTurns(newestFirst: readonly HistoryRow[]): HistoryRow[] {
  let question: string | null | undefined;
  let fits = false;
  return newestFirst.toReversed().filter((row) => {
    const asked = row.asks ? row.position : null;
    if (question === undefined || (asked !== null && asked !== question)) {
      question = asked;
      fits = row.fits;
    }
    return fits;
  });
}
