/** A frame of an event stream. */
export interface EventFrame {
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Yields the frames of an event stream (WHATWG HTML, "Server-sent events") that have data. Ends with the body.
 * @param silenceMs Signalbox sends a comment at least every 15 s; a connection that is silent for this long is broken
 * @throws what the body throws, or an error after silence
 */
export async function* readFrames(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<EventFrame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = '';
  try {
    for (;;) {
      const { done, value } = await withinMs(reader.read(), silenceMs);
      if (done) return;
      unread += decoder.decode(value, { stream: true });
      // A packet can end in the middle of a frame. What follows the last blank line stays for the next packet.
      const frames = unread.split('\n\n');
      unread = frames.pop() ?? '';
      for (const frame of frames) {
        const data = field(frame, 'data');
        if (data !== undefined) yield { id: field(frame, 'id'), data };
      }
    }
  } finally {
    // Also ends the connection when the consumer stops reading.
    await reader.cancel().catch(() => undefined);
  }
}

/** Signalbox sends each field on one line. */
function field(frame: string, name: string): string | undefined {
  const prefix = `${name}: `;
  return frame
    .split('\n')
    .find((line) => line.startsWith(prefix))
    ?.slice(prefix.length);
}

async function withinMs<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The stream was silent for ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
