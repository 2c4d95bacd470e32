/**
 * Yields the chunks of a Signalbox stream as they arrive: `for await (const chunk of readStream(response)) …`. Each chunk is a
 * UI-message chunk of the AI SDK, such as `{ type: 'text-delta', id, delta }`. Ends at `[DONE]`.
 *
 * A browser's `EventSource` cannot send the `Authorization` header, so use `fetch` and pass its response.
 *
 * @param {Response} response of `GET …/stream`
 * @returns {AsyncGenerator<{ type: string, [field: string]: unknown }>}
 */
export async function* readStream(response) {
  let unread = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    unread += text;
    // A packet can end in the middle of an event. Keep the text after the last blank line for the next packet.
    const events = unread.split('\n\n');
    unread = events.pop();
    for (const event of events) {
      const data = dataOf(event);
      if (data === '[DONE]') return;
      if (data !== undefined) yield JSON.parse(data);
    }
  }
  throw new Error('The stream ended before [DONE].');
}

/** Returns undefined for a comment, which only keeps the connection open. */
function dataOf(event) {
  return event
    .split('\n')
    .find((line) => line.startsWith('data: '))
    ?.slice('data: '.length);
}
