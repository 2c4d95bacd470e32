import { MESSAGE_BYTES } from './message.entity.js';

/** How much of a question a list shows, in characters. */
const MAX_LENGTH = 500;
/** How much is read for the questions of a page, as JSON text. No message uses more than its share. */
const MAX_BYTES = 8_388_608;

/** How large a message can be that a page of so many items shows the beginning of. */
export function questionBytes(items: number): number {
  return Math.floor(MAX_BYTES / items);
}

/**
 * SQL for the beginning of the first text among these messages of people.
 * @param messages a condition on the alias `message`
 * @param maxBytes the placeholder of `questionBytes`
 */
export function questionAmong(messages: string, maxBytes: string): string {
  return `(
    SELECT left(part.value ->> 'text', ${MAX_LENGTH})
      FROM (SELECT parts FROM messages message
             WHERE ${messages} AND message.role = 'user' AND ${MESSAGE_BYTES} <= ${maxBytes}
             ORDER BY message.run_position, message.ordinal LIMIT 1) AS question,
           json_array_elements(question.parts) WITH ORDINALITY AS part (value, place)
     WHERE part.value ->> 'type' = 'text' ORDER BY part.place LIMIT 1)`;
}
