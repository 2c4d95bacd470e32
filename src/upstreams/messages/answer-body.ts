import { Readable } from 'node:stream';
import type { AnsweredWithRoom, AnswerRoom } from '../../core/answers/answer-room.js';
import type { Principal } from '../../core/principal.js';
import { serviceTurnHolderOf, turnHolderOf, WorkTurns } from '../../core/work-turns.js';
import { MAX_PARSED_BYTES, ParseCost } from '../../core/json/parse-cost.js';

/** How many bytes of an answer are buffered before it is sent on, so that a failure can still be reported. */
export const GATHERED_BYTES = 64 * 1024;

/** What a buffered byte costs: the pieces as they arrive, and what is made of them. */
const COPIES = 2;

/**
 * The memory for an answer of which this many bytes are buffered; undefined if every answer may have them.
 * @param limit up to which the answer is buffered, in bytes; by default the limit on parsing
 */
export function memoryFor(bytes: number, limit = MAX_PARSED_BYTES): number | undefined {
  return bytes <= GATHERED_BYTES ? undefined : Math.max(bytes, limit) * COPIES;
}

/** The memory for an answer that has arrived, in bytes. */
export function memoryForWhole({ length }: Buffer): number {
  return memoryFor(length, length) ?? 0;
}

/**
 * Waits for room if this many bytes are more than what is buffered of every answer.
 * @param limit see `memoryFor`
 * @throws DomainError `answer_memory_exhausted`
 */
export function requireRoom(
  answered: AnsweredWithRoom | undefined,
  bytes: number,
  limit?: number,
): Promise<void> | undefined {
  const memory = memoryFor(bytes, limit);
  if (memory === undefined || answered === undefined) return undefined;
  const { rooms, request, reply } = answered;
  return rooms.enter(request, reply, memory);
}

/** The bytes of an answer: a buffer for a small one, a stream for one that is still arriving. */
export type AnswerBody = Buffer | Readable;

/** The bytes of an answer as they are read, in turn with other work of the process. */
export type AnswerChunks = AsyncIterable<Buffer> | readonly Buffer[];

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
 * Buffers the whole body for parsing. Rejects if the stream fails, or with the error of `tooLarge` if parsing would
 * cost too much. A large body waits for room.
 */
export async function wholeOf(
  body: AnswerBody | AnswerChunks,
  tooLarge: () => Error,
  answered?: AnsweredWithRoom,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const cost = new ParseCost();
  let size = 0;
  for await (const chunk of chunksOf(body, answered)) {
    cost.add(chunk);
    if (cost.isTooHigh) throw tooLarge();
    size += chunk.length;
    const entering = requireRoom(answered, size);
    if (entering !== undefined) await entering;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The bytes as they arrive, those of a large answer in turn with other work of the process. Rejects if the stream
 * fails. Chunks are returned unchanged.
 * @param answered the response that they are for, if there is one
 */
export function chunksOf(body: AnswerBody | AnswerChunks, answered?: AnsweredWithRoom): AnswerChunks {
  if (!(body instanceof Readable)) return Buffer.isBuffer(body) ? [body] : body;
  return inTurns(body, turnsOf(answered?.request.principal));
}

/**
 * The same for an answer that the service itself reads for an organization.
 * @param room for a large answer, which waits for it while it arrives; absent: the answer counts towards no memory
 */
export function chunksForService(body: AnswerBody, organizationId: string, room?: AnswerRoom): AnswerChunks {
  if (!(body instanceof Readable)) {
    room?.reserve(memoryForWhole(body));
    return [body];
  }
  const turns = new WorkTurns(serviceTurnHolderOf(organizationId), GATHERED_BYTES);
  return inTurns(room === undefined ? body : entering(body, room), turns);
}

async function* entering(body: AsyncIterable<Buffer>, room: AnswerRoom): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    const memory = memoryFor(size);
    if (memory !== undefined) await room.enter(memory);
    yield chunk;
  }
}

async function* inTurns(body: AsyncIterable<Buffer>, turns: WorkTurns): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const turn = turns.next(chunk.length);
    if (turn !== undefined) await turn;
    yield chunk;
  }
}

/** The turns of an answer to this principal: one for as many bytes as are buffered of every answer. */
export function turnsOf(principal: Principal | undefined): WorkTurns {
  return new WorkTurns(turnHolderOf(principal, 'answer'), GATHERED_BYTES);
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
