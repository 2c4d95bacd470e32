import { type AnswerBody, chunksOf } from './answer-body.js';

/** A whole event with the empty line that ends it, or a piece of one that is too large to be gathered. */
export interface SsePart {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
/** One byte less than the longest end of an event. */
const SEARCHED_AGAIN = 2;

/**
 * Cuts an event stream (WHATWG HTML, "Server-sent events") into events. An event that the stream ends before is dropped, as
 * that specification wants it; of one that was cut, the pieces have been handed out by then.
 * @param limit bytes up to which an event is gathered
 */
export async function* sseParts(body: AnswerBody, limit: number): AsyncGenerator<SsePart> {
  let gathered: Buffer[] = [];
  let size = 0;
  let isCut = false;
  /** The last bytes, in which an end may have begun. */
  let rest: Buffer = Buffer.alloc(0);
  const take = (last: Buffer): Buffer => {
    const bytes = gathered.length === 0 ? last : Buffer.concat([...gathered, last]);
    gathered = [];
    size = 0;
    return bytes;
  };
  for await (const chunk of chunksOf(body)) {
    let bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = endOfEvent(bytes); end !== -1; end = endOfEvent(bytes)) {
      yield { bytes: take(bytes.subarray(0, end)), isWhole: !isCut };
      isCut = false;
      bytes = bytes.subarray(end);
    }
    const kept = Math.max(0, bytes.length - SEARCHED_AGAIN);
    rest = bytes.subarray(kept);
    if (kept > 0) gathered.push(bytes.subarray(0, kept));
    size += kept;
    if (size > limit) {
      yield { bytes: take(Buffer.alloc(0)), isWhole: false };
      isCut = true;
    }
  }
}

/** The index after the first empty line, or -1. */
function endOfEvent(bytes: Buffer): number {
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  const lone = bytes.indexOf('\r\r');
  return lone === -1 ? -1 : lone + 2;
}

/** Do these bytes, which come from a stream of events, end with the end of one? */
export function endsEvent(bytes: Buffer): boolean {
  const [third, second, last] = [bytes.at(-3), bytes.at(-2), bytes.at(-1)];
  if (last === LF) return second === LF || (second === CR && third === LF);
  return last === CR && second === CR;
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

/** The same event, its id included, with other data. */
export function withData(event: Buffer, data: string): Buffer {
  const kept = event
    .toString('utf8')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && !line.startsWith('data:'));
  const lines = data.split(/\r\n|\n|\r/).map((line) => `data: ${line}`);
  return Buffer.from([...kept, ...lines, '', ''].join('\n'));
}

export function messageEvent(data: string): Buffer {
  return Buffer.from(`event: message\ndata: ${data}\n\n`);
}
