import type { CallerFilter } from '../../protocol/proxy-caller.js';
import type { AnsweredWithRoom } from '../../../core/answers/answer-room.js';
import { type AnswerBody, discard, GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { dataOf, sseParts } from '../../../upstreams/messages/sse-parts.js';
import { parseRecord } from '../../../core/is-record.js';
import { reserializeEvent, reserializeMessage, passesWhole } from './reserialize.js';

/**
 * Relays the stream of messages that belong to no request (GET). A stream that resumes another one can contain an
 * answer to `tools/list`, so the caller's filter applies to it too. Events that cannot be filtered are dropped, unless
 * the caller is permitted to see everything.
 */
export async function* relayUnsolicited(
  body: AnswerBody,
  filter: CallerFilter | undefined,
  onListChanged: () => void,
  response: AnsweredWithRoom,
): AsyncGenerator<Buffer> {
  const limit = filter === undefined ? GATHERED_BYTES : undefined;
  try {
    for await (const { bytes, isWhole } of sseParts(body, limit, response)) {
      if (isWhole && saysToolsChanged(bytes)) onListChanged();
      const unread = filter === undefined || filter.holdsAll === true ? bytes : undefined;
      const allowed = filter !== undefined && isWhole ? filteredEvent(bytes, filter) : unread;
      if (filter?.record !== undefined) await filter.record();
      if (allowed !== undefined) yield allowed;
      // The stream can be silent for hours now.
      response.rooms.leave(response.reply);
    }
  } finally {
    discard(body);
  }
}

/** The event reduced to what the caller is permitted to see; undefined if it cannot be filtered. */
export function filteredEvent(event: Buffer, filter: CallerFilter): Buffer | undefined {
  const data = dataOf(event);
  // An event can consist of its id alone.
  if (data === undefined || data === '') return filter.holdsAll === true ? event : reserializeEvent(event, data);
  const message = parseRecord(data);
  if (message === undefined ? filter.holdsAll === true : passesWhole(message, filter)) return event;
  const text = message && reserializeMessage(message, filter);
  return text === undefined ? undefined : reserializeEvent(event, text);
}

const LIST_CHANGED_NAMES = ['tools/list_changed', String.raw`tools\/list_changed`];

/**
 * True if this event might report that the list of tools has changed (MCP, `notifications/tools/list_changed`). The
 * event is searched, not parsed: a needless lookup of the list does no harm. Some servers escape slashes (RFC 8259 §7).
 */
export function saysToolsChanged(event: Buffer): boolean {
  return LIST_CHANGED_NAMES.some((name) => event.includes(name));
}
