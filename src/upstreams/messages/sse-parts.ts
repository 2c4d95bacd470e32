import type { AnsweredWithRoom } from '../../common/answers/answer-room.js';
import { type AnswerBody, chunksOf, requireRoom } from './answer-body.js';
import { ParseCost } from '../../json/parse-cost.js';

/** A whole event with the empty line that ends it, or a piece of an event that is too large to buffer. */
export interface SsePart {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
/** Readers skip one at the beginning of a stream. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** One byte less than the longest sequence that ends an event. */
const SEARCHED_AGAIN = 2;

/**
 * Splits an event stream (WHATWG HTML, "Server-sent events") into events. An incomplete event at the end of the stream is
 * dropped, as the specification requires; pieces of a large one have been yielded by then.
 * @param limit bytes up to which an event is buffered; by default the limit on parsing
 * @param answered the response, for which a large event waits for room. The caller gives it back.
 */
export async function* sseParts(
  body: AnswerBody,
  limit?: number,
  answered?: AnsweredWithRoom,
): AsyncGenerator<SsePart> {
  let gathered: Buffer[] = [];
  let size = 0;
  let isCut = false;
  let cost = new ParseCost();
  /** The last bytes, which can contain the beginning of an event's end. */
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = true;
  const take = (last: Buffer): Buffer => {
    const bytes = gathered.length === 0 ? last : Buffer.concat([...gathered, last]);
    const isMarked = isFirst && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    isFirst = false;
    gathered = [];
    size = 0;
    cost = new ParseCost();
    return isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  };
  for await (const chunk of chunksOf(body)) {
    const entering = requireRoom(answered, size + chunk.length, limit);
    if (entering !== undefined) await entering;
    const searched: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (const end of endsOfEvents(searched)) {
      yield { bytes: take(searched.subarray(start, end)), isWhole: !isCut };
      isCut = false;
      start = end;
    }
    const bytes = searched.subarray(start);
    const unchanged = Math.max(0, bytes.length - SEARCHED_AGAIN);
    rest = bytes.subarray(unchanged);
    if (unchanged > 0) gathered.push(bytes.subarray(0, unchanged));
    size += unchanged;
    if (limit === undefined) cost.add(bytes.subarray(0, unchanged));
    if (limit === undefined ? cost.isTooHigh : size > limit) {
      yield { bytes: take(Buffer.alloc(0)), isWhole: false };
      isCut = true;
    }
  }
}

/**
 * The indexes after all empty lines, in one pass; separate searches would read the same bytes repeatedly. A line ends with LF, CR
 * or both; any other rule would find other events than the caller does.
 */
function* endsOfEvents(bytes: Buffer): Generator<number> {
  let [lf, cr] = [bytes.indexOf(LF), bytes.indexOf(CR)];
  let lineStart = -1;
  while (lf !== -1 || cr !== -1) {
    const at = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
    const next = at === cr && lf === at + 1 ? at + 2 : at + 1;
    // The LF of a CR LF may be in the next chunk.
    const isHalf = at === bytes.length - 1 && bytes[at] === CR && bytes[at - 1] === LF;
    if (at === lineStart && !isHalf) yield next;
    lineStart = at === lineStart ? -1 : next;
    if (cr !== -1 && cr < next) cr = bytes.indexOf(CR, next);
    if (lf !== -1 && lf < next) lf = bytes.indexOf(LF, next);
  }
}

/** Do these bytes of an event stream end with the end of an event? */
export function endsEvent(bytes: Buffer): boolean {
  const [third, second, last] = [bytes.at(-3), bytes.at(-2), bytes.at(-1)];
  return last === LF && second === CR ? isLineEnd(third) : isLineEnd(last) && isLineEnd(second);
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

/** The data of an event as text; undefined for a comment or an event without data. */
export function dataOf(event: Buffer): string | undefined {
  const lines = event.toString('utf8').split(/\r\n|\n|\r/);
  const data = lines.flatMap((line) => {
    if (!line.startsWith('data:')) return [];
    return [line.charAt(5) === ' ' ? line.slice(6) : line.slice(5)];
  });
  return data.length === 0 ? undefined : data.join('\n');
}

/** Replaces the data of an event, and keeps its other fields. */
export function withData(event: Buffer, data: string): Buffer {
  const unchanged = event
    .toString('utf8')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && !line.startsWith('data:'));
  const lines = data.split(/\r\n|\n|\r/).map((line) => `data: ${line}`);
  return Buffer.from([...unchanged, ...lines, '', ''].join('\n'));
}

export function messageEvent(data: string): Buffer {
  return Buffer.from(`event: message\ndata: ${data}\n\n`);
}
