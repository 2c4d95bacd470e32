import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';

/** The message that the AI SDK's own reader makes of the chunks, as JSON. */
export async function fold(chunks: readonly UIMessageChunk[]): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const stream = ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
  // The reader calls an `error` chunk an error; what has arrived by then is still the message.
  for await (const message of readUIMessageStream({ stream, onError: () => undefined })) last = message;
  return last === undefined ? undefined : (JSON.parse(JSON.stringify(last)) as UIMessage);
}
