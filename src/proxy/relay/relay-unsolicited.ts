import { type AnswerBody, discard, GATHERED_BYTES } from '../../upstreams/channel/answer-body.js';
import { filterEvent } from './filter-event.js';
import { sseParts } from '../../upstreams/channel/sse-parts.js';
import type { ToolListFilter } from './tool-list-filter.js';
import { saysToolsChanged } from './tools-changed.js';

/**
 * Relays the stream of messages that belong to no request (GET). A stream that resumes another one may hold an answer to
 * `tools/list`, so it passes the caller's filter too; what cannot be judged by it is left out.
 */
export async function* relayUnsolicited(
  body: AnswerBody,
  filter: ToolListFilter | undefined,
  onListChanged: () => void,
): AsyncGenerator<Buffer> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, filter === undefined ? GATHERED_BYTES : undefined)) {
      if (isWhole && saysToolsChanged(bytes)) onListChanged();
      const allowed = filter === undefined ? bytes : isWhole ? filterEvent(bytes, filter) : undefined;
      if (allowed !== undefined) yield allowed;
    }
  } finally {
    discard(body);
  }
}
