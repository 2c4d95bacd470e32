import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { CALLER_ID, newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { OPEN_RUN_STATUS_LIST } from '../../core/run-status.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import type { ThreadCopyInput } from './thread.dto.js';

// One statement, so one snapshot. The answer of an open run is not finished; its question is. The messages keep their
// places, which are before those of every later run. Without a new thread, because its id is taken, no message is
// copied.
const COPY = {
  name: 'thread_copy',
  text: `
    WITH last AS (
      SELECT run_position, ordinal, superseded_by, role, EXISTS (
               SELECT FROM runs WHERE runs.id = messages.run_id AND runs.message_id = messages.id
                 AND runs.status IN (${OPEN_RUN_STATUS_LIST})
             ) AS unfinished
        FROM messages WHERE organization_id = $1 AND thread_id = $2 AND id = $3
    ), refusal AS (
      SELECT CASE
               WHEN NOT EXISTS (SELECT FROM threads WHERE organization_id = $1 AND id = $2) THEN 'thread_not_found'
               WHEN $3::text IS NULL THEN NULL
               WHEN NOT EXISTS (SELECT FROM last) THEN 'message_not_found'
               WHEN (SELECT superseded_by FROM last) IS NOT NULL THEN 'superseded'
               WHEN (SELECT unfinished FROM last) THEN 'thread_busy'
             END AS code
    ), made AS (
      INSERT INTO threads (organization_id, id, title, virtual_mcp_id, status, metadata, created_by)
      SELECT organization_id, $4, coalesce($5, title), virtual_mcp_id, 'completed', metadata, $6::uuid FROM threads
       WHERE organization_id = $1 AND id = $2 AND (SELECT code FROM refusal) IS NULL
      ON CONFLICT DO NOTHING RETURNING id
    ), copied AS (
      INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata,
        created_at, updated_at)
      SELECT message.organization_id, made.id, gen_random_uuid()::text, message.run_id, message.run_position,
             message.ordinal, message.role, message.parts, message.metadata, message.created_at, message.updated_at
        FROM made, messages AS message
       WHERE message.organization_id = $1 AND message.thread_id = $2 AND message.superseded_by IS NULL
         AND ($3::text IS NULL OR (message.run_position, message.ordinal) <= (SELECT run_position, ordinal FROM last))
         AND NOT EXISTS (
           SELECT FROM runs
            WHERE runs.id = message.run_id AND runs.message_id = message.id
              AND runs.status IN (${OPEN_RUN_STATUS_LIST}))
    )
    SELECT (SELECT code FROM refusal) AS refusal, EXISTS (SELECT FROM made) AS "isMade"`,
};

type Refusal = 'thread_not_found' | 'message_not_found' | 'superseded' | 'thread_busy';

const SENTENCES: Readonly<Record<Refusal, string>> = {
  thread_not_found: 'There is no thread with this id in the organization.',
  message_not_found: 'The thread has no message with the id until_message_id.',
  superseded: 'A later answer has superseded the message until_message_id.',
  thread_busy: 'The answer until_message_id is not finished.',
};

/** Copies threads with their finished messages. */
@Injectable()
export class ThreadCopying {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * @returns the id of the new thread
   * @throws DomainError `thread_not_found`, `message_not_found`, `superseded`, `thread_busy`; `thread_exists` if
   *   `new_id` is taken
   */
  async copy(input: ThreadCopyInput, caller: Principal): Promise<string> {
    const newThreadId = input.new_id ?? newId();
    // No thread has any other id, and PostgreSQL rejects some texts.
    if (!CALLER_ID.test(input.id)) throw new DomainError('thread_not_found', SENTENCES.thread_not_found);
    const [row] = await this.statements.rows<{ refusal: Refusal | null; isMade: boolean }>(COPY, [
      caller.organization.id,
      input.id,
      input.until_message_id ?? null,
      newThreadId,
      input.title ?? null,
      caller.userId,
    ]);
    if (row === undefined) throw new Error('An aggregate of subqueries has one row.');
    if (row.refusal !== null) throw new DomainError(row.refusal, SENTENCES[row.refusal]);
    if (!row.isMade) throw new DomainError('thread_exists', 'A thread with the id new_id already exists.');
    return newThreadId;
  }
}
