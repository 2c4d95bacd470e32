import { Readable } from 'node:stream';
import { ParseCost } from '../../json/parse-cost.js';

/** How many bytes of an answer are gathered before it is handed on, so that a failure can still be told. */
export const GATHERED_BYTES = 64 * 1024;

/** The bytes of an answer: those of a small one, or the stream of one that is still on its way. */
export type AnswerBody = Buffer | Readable;

/** Nobody wants the bytes. A little that is left of an answer over HTTP is read all the same, to keep the connection. */
export function discard(body: AnswerBody): void {
  if (body instanceof Readable) body.destroy();
}

/** Calls back when the last byte is there or the stream was given up; at once if it is so already. */
export function onceRead(body: AnswerBody, callback: () => void): void {
  if (body instanceof Readable && !body.closed) body.once('close', callback);
  else callback();
}

/** All of it, to be parsed. Rejects as the stream fails, or with what `tooLarge` returns if it is more than may be parsed. */
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

/** The bytes as they come. Rejects as the stream fails. */
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
