import { DomainError } from '../../core/domain-error.js';
import { hasConditionOn } from '../../core/paging/covers-all-rows.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';

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
