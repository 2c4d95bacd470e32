import { Readable } from 'node:stream';
import { ParseCost } from '../../json/parse-cost.js';

/** How many bytes of an answer are buffered before it is sent on, so that a failure can still be reported. */
export const GATHERED_BYTES = 64 * 1024;

/** The bytes of an answer: a buffer for a small one, a stream for one that is still arriving. */
export type AnswerBody = Buffer | Readable;

/** Drops the bytes. A small rest of an HTTP answer is still read, so that the connection can be reused. */
export function discard(body: AnswerBody): void {
  if (body instanceof Readable) body.destroy();
}

/** Calls back when the last byte was read or the stream was destroyed; at once if it already was. */
export function onceRead(body: AnswerBody, callback: () => void): void {
  if (body instanceof Readable && !body.closed) body.once('close', callback);
  else callback();
}

/**
 * Buffers the whole body for parsing. Rejects if the stream fails, or with the error of `tooLarge` if parsing would cost too
 * much.
 */
export async function wholeOf(body: AnswerBody, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const cost = new ParseCost();
  for await (const chunk of chunksOf(body)) {
    cost.add(chunk);
    if (cost.isTooHigh) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The bytes as they arrive. Rejects if the stream fails. */
export function chunksOf(body: AnswerBody): AsyncIterable<Buffer> | readonly Buffer[] {
  return body instanceof Readable ? body : [body];
}

/** The first bytes of a body: what is larger than it may be is read no further. */
export async function* beginningOf(body: AnswerBody, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes;
  for await (const chunk of chunksOf(body)) {
    yield chunk.subarray(0, left);
    left -= chunk.byteLength;
    if (left <= 0) return;
  }
}
