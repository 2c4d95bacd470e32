import { withTimeout } from '../../../core/with-timeout.js';
import { endsEvent } from '../../../upstreams/messages/sse-parts.js';

const EVERY_MS = 15_000;
const COMMENT = Buffer.from(': keep-alive\n\n');

/**
 * Sends a comment whenever an event stream has been silent for a while, so that intermediaries keep it open. The first
 * is sent at once, so that the caller receives the headers of a stream that is silent at first.
 */
export async function* keepAlive(events: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let waitMs = 0;
  // A comment must not split an event.
  let isBetweenEvents = true;
  try {
    for (;;) {
      const next = events.next();
      if (isBetweenEvents) {
        while (await isSilentFor(next, waitMs)) {
          yield COMMENT;
          waitMs = EVERY_MS;
        }
      }
      const { done, value } = await next;
      if (done === true) return;
      yield value;
      waitMs = EVERY_MS;
      isBetweenEvents = endsEvent(value);
    }
  } finally {
    await events.return(undefined);
  }
}

function isSilentFor(next: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = next.then(() => false);
  return withTimeout(ended, ms, () => true);
}
