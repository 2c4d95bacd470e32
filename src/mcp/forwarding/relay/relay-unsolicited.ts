import { type AnswerBody, discard, GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { dataOf, sseParts } from '../../../upstreams/messages/sse-parts.js';
import { parseMessage } from './complete-answer.js';
import type { CallerFilter } from './tool-list-filter.js';
import { saysToolsChanged } from './tools-changed.js';
import { eventAnew, messageAnew } from './written-anew.js';

/**
 * Relays the stream of messages that belong to no request (GET). A stream that resumes another one may hold an answer to
 * `tools/list`, so it passes the caller's filter too; what cannot be judged by it is left out.
 */
export async function* relayUnsolicited(
  body: AnswerBody,
  filter: CallerFilter | undefined,
  onListChanged: () => void,
): AsyncGenerator<Buffer> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, filter === undefined ? GATHERED_BYTES : undefined)) {
      if (isWhole && saysToolsChanged(bytes)) onListChanged();
      const allowed = filter === undefined ? bytes : isWhole ? filteredEvent(bytes, filter) : undefined;
      if (allowed !== undefined) yield allowed;
    }
  } finally {
    discard(body);
  }
}

/** The event with what the caller may see of its message; undefined for one that cannot be judged. */
export function filteredEvent(event: Buffer, filter: CallerFilter): Buffer | undefined {
  const data = dataOf(event);
  // An event may be there for its id alone.
  if (data === undefined || data === '') return eventAnew(event, data);
  const message = parseMessage(data);
  const text = message && messageAnew(message, filter);
  return text === undefined ? undefined : eventAnew(event, text);
}
