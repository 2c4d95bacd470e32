/**
 * The chunks of a Signalbox stream, as they arrive: `for await (const chunk of readStream(response)) …`. Each one is an
 * AI SDK UI-message chunk such as `{ type: 'text-delta', id, delta }`. Ends at `[DONE]`.
 *
 * A browser's `EventSource` cannot send the `Authorization` header, so the stream is fetched and its body is read.
 *
 * @param {Response} response of `GET …/stream`
 * @returns {AsyncGenerator<{ type: string, [field: string]: unknown }>}
 */
export async function* readStream(response) {
  let unread = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    unread += text;
    // A packet may end in the middle of an event: what follows the last blank line is kept for the next one.
    const events = unread.split('\n\n');
    unread = events.pop();
    for (const event of events) {
      const data = dataOf(event);
      if (data === '[DONE]') return;
      if (data !== undefined) yield JSON.parse(data);
    }
  }
  throw new Error('The stream broke off before [DONE].');
}

/** Undefined for a comment, which only keeps the connection open. */
function dataOf(event) {
  return event
    .split('\n')
    .find((line) => line.startsWith('data: '))
    ?.slice('data: '.length);
}
