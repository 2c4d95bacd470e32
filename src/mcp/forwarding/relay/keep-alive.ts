import { withTimeout } from '../../../common/with-timeout.js';
import { endsEvent } from '../../../upstreams/messages/sse-parts.js';

/** The first comment is sent early, so that the caller receives the headers of a stream that is silent at first. */
const FIRST_AFTER_MS = 1_000;
const EVERY_MS = 15_000;
const COMMENT = Buffer.from(': keep-alive\n\n');

/** Sends a comment whenever an event stream has been silent for a while, so that intermediaries keep it open. */
export async function* keepAlive(
  events: AsyncGenerator<Buffer>,
  firstAfterMs = FIRST_AFTER_MS,
): AsyncGenerator<Buffer> {
  let waitMs = firstAfterMs;
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
