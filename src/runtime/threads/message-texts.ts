import { DomainError } from '../../core/domain-error.js';
import { hasConditionOn } from '../../core/paging/covers-all-rows.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { MESSAGE_BYTES } from './message.entity.js';

/** The management tool that reads messages. What else shows or searches their texts requires its permission. */
const READS_MESSAGES = 'COLLECTION_THREAD_MESSAGES_LIST';

/**
 * SQL for the messages of the organization `:organizationId` whose text matches; `messages_words_idx` finds them. An
 * answer that is not over has no words.
 * @param columns of the alias `message`
 */
export function messagesWith(columns: string, placeholder: string): string {
  return `SELECT ${columns} FROM messages message
    WHERE message.organization_id = :organizationId
      AND message_words(message.organization_id, message.role, message.parts, message.metadata)
        @@ search_words(:organizationId, ${placeholder})`;
}

/** Whether the caller is allowed to read the messages of the organization's threads. */
export function readsMessages({ permissions }: Principal): boolean {
  return allows(permissions, SELF, READS_MESSAGES);
}

/**
 * Checks that a caller who searches texts is allowed to read them: what a search finds says what they contain.
 * @param searches the fields that search texts
 * @throws DomainError `permission_denied`
 */
export function requireReadableTexts(caller: Principal, where: unknown, searches: readonly string[]): void {
  if (readsMessages(caller) || !hasConditionOn(where, searches)) return;
  throw new DomainError('permission_denied', `A search for the text of messages requires ${READS_MESSAGES}.`);
}

/** How much of a question a list shows, in characters. */
const MAX_QUESTION_LENGTH = 500;
/** How much is read for the questions of a page, as JSON text. No message uses more than its share. */
const MAX_QUESTION_BYTES = 8_388_608;

/** How large a message can be that a page of so many items shows the beginning of. */
export function questionBytes(items: number): number {
  return Math.floor(MAX_QUESTION_BYTES / items);
}

/**
 * SQL for the beginning of the first text among these messages of people.
 * @param messages a condition on the alias `message`
 * @param maxBytes the placeholder of `questionBytes`
 */
export function questionAmong(messages: string, maxBytes: string): string {
  return `(
    SELECT left(part.value ->> 'text', ${MAX_QUESTION_LENGTH})
      FROM (SELECT parts FROM messages message
             WHERE ${messages} AND message.role = 'user' AND ${MESSAGE_BYTES} <= ${maxBytes}
             ORDER BY message.run_position, message.ordinal LIMIT 1) AS question,
           json_array_elements(question.parts) WITH ORDINALITY AS part (value, place)
     WHERE part.value ->> 'type' = 'text' ORDER BY part.place LIMIT 1)`;
}
