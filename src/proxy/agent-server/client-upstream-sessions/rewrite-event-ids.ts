import { dataOf, withData } from '../../../upstreams/messages/sse-parts.js';
import { parseRecord } from '../../../core/is-record.js';
import { isUpdate, renameUpdate } from '../offering/renamed-resource.js';

/** Maps the ids in the messages of an agent's upstream to those that the agent's caller sees. */
export interface EventIdRewriter {
  /** Maps the id of an upstream's request; undefined if the request cannot be relayed. */
  request(id: string | number): string | undefined;
  /** Maps the id of an event, by which a stream can be resumed; undefined to omit it. */
  event(id: string): string | undefined;
  /** Maps the address of a resource that has changed; absent if it stays. */
  readonly address?: (uri: string) => string;
  /** The id of the only request of the caller that this stream answers; undefined if it answers none. */
  readonly answers: string | number | undefined;
}

/** Not `^` and `$`, which also match at U+2028 in the data. */
const EVENT_ID = /(?<=^|[\r\n])id: ?([^\r\n]*)/;

/**
 * Rewrites the ids of an event for the caller, and the address of a resource that has changed. Undefined for a request
 * that cannot be relayed, and for an answer to a request that this upstream did not receive: the caller tells answers
 * apart by the id alone, and could take it for another upstream's.
 */
export function rewriteEventIds(event: Buffer, rewriter: EventIdRewriter): Buffer | undefined {
  const data = dataOf(event);
  const message = data === undefined || data === '' ? undefined : parseRecord(data);
  // Old clients accept batches, whose messages are not checked here.
  if (data?.trimStart().startsWith('[') === true) return undefined;
  const id = message?.['id'];
  if (message === undefined || (typeof id !== 'string' && typeof id !== 'number')) {
    const { address } = rewriter;
    const renamed = message && address && isUpdate(message) ? renameUpdate(event, message, address) : event;
    return withEventId(renamed, rewriter);
  }
  if (!('method' in message)) return id === rewriter.answers ? withEventId(event, rewriter) : undefined;
  const requestId = rewriter.request(id);
  if (requestId === undefined) return undefined;
  return withEventId(withData(event, JSON.stringify({ ...message, id: requestId })), rewriter);
}

function withEventId(event: Buffer, rewriter: EventIdRewriter): Buffer {
  const text = event.toString('utf8');
  const id = EVENT_ID.exec(text)?.[1];
  if (id === undefined) return event;
  const named = rewriter.event(id);
  return Buffer.from(text.replace(EVENT_ID, () => (named === undefined ? ': ' : `id: ${named}`)));
}
