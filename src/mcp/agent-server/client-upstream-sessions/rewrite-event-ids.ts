import { dataOf, withData } from '../../../upstreams/messages/sse-parts.js';
import { parseMessage } from '../../forwarding/relay/complete-answer.js';

/** How what a member of an agent sends is named towards the agent's caller. */
export interface EventIdRewriter {
  /** The id of a request of the upstream; undefined if it cannot be relayed. */
  request(id: string | number): string | undefined;
  /** The id of an event, by which a stream can be resumed; undefined to leave it out. */
  event(id: string): string | undefined;
  /** The id of the one request of the caller that may be answered here; undefined if none may. */
  readonly answers: string | number | undefined;
}

/** Not `^` and `$`: these see ends of lines in data too (U+2028). */
const EVENT_ID = /(?<=^|[\r\n])id: ?([^\r\n]*)/;

/**
 * The event under the ids that the caller gets to see. Undefined for a request that cannot be relayed, and for an answer to
 * something that this upstream was not asked: the caller tells answers apart by the id alone, and could take it for another's.
 */
export function rewriteEventIds(event: Buffer, addressing: EventIdRewriter): Buffer | undefined {
  const data = dataOf(event);
  const message = data === undefined || data === '' ? undefined : parseMessage(data);
  // Old clients take several messages in a list, which nobody has looked at here.
  if (data?.trimStart().startsWith('[') === true) return undefined;
  const id = message?.['id'];
  if (message === undefined || (typeof id !== 'string' && typeof id !== 'number'))
    return withEventId(event, addressing);
  if (!('method' in message)) return id === addressing.answers ? withEventId(event, addressing) : undefined;
  const address = addressing.request(id);
  if (address === undefined) return undefined;
  return withEventId(withData(event, JSON.stringify({ ...message, id: address })), addressing);
}

function withEventId(event: Buffer, addressing: EventIdRewriter): Buffer {
  const text = event.toString('utf8');
  const id = EVENT_ID.exec(text)?.[1];
  if (id === undefined) return event;
  const named = addressing.event(id);
  return Buffer.from(text.replace(EVENT_ID, () => (named === undefined ? ': ' : `id: ${named}`)));
}
