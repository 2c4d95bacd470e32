import { STALLED_MS } from '../../core/answers/answer-budget.js';
import type { AnsweredWithRoom, AnswerRoom, OwnRoom } from '../../core/answers/answer-room.js';
import {
  type AnswerBody,
  type AnswerChunks,
  chunksForService,
  chunksOf,
  GATHERED_BYTES,
  requireRoom,
  wholeOf,
} from './answer-body.js';
import { ParseCost } from '../../core/json/parse-cost.js';
import { toUpstreamError, UpstreamMisbehaviour, UpstreamError } from '../contract/upstream-error.js';
import type { UpstreamAnswer } from './upstream-channel.js';
import { Readable } from 'node:stream';

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
 * Splits an event stream (WHATWG HTML, "Server-sent events") into events, chunk by chunk. An incomplete event at the
 * end of the stream is dropped, as the specification requires; pieces of a large one have been returned by then.
 */
export class SseSplitter {
  private gathered: Buffer[] = [];
  private size = 0;
  private isCut = false;
  private isFirst = true;
  /** The last bytes, if they can be the beginning of an event's end. */
  private rest: Buffer = Buffer.alloc(0);
  private cost: ParseCost | undefined;

  /**
   * @param limit bytes up to which an event is buffered; by default the limit on parsing
   * @param answered the response, for which a large event waits for room. The caller gives it back.
   */
  constructor(
    private readonly limit?: number,
    private readonly answered?: AnsweredWithRoom,
  ) {}

  /** Waits for room if a large event is buffered with this chunk. @throws DomainError `answer_memory_exhausted` */
  requireRoomFor(chunk: Buffer): Promise<void> | undefined {
    return requireRoom(this.answered, this.size + chunk.length, this.limit);
  }

  /** Reads the next chunk of the stream. Take all parts of one chunk before the next. */
  *push(chunk: Buffer): Generator<SsePart> {
    const searched: Buffer = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let start = 0;
    for (const end of endsOfEvents(searched)) {
      const part = { bytes: this.take(searched.subarray(start, end)), isWhole: !this.isCut };
      this.isCut = false;
      start = end;
      yield part;
    }
    const bytes = searched.subarray(start);
    let unchanged = bytes.length;
    while (unchanged > bytes.length - SEARCHED_AGAIN && isLineEnd(bytes[unchanged - 1])) unchanged--;
    this.rest = bytes.subarray(unchanged);
    if (unchanged === 0) return;
    this.gathered.push(bytes.subarray(0, unchanged));
    this.size += unchanged;
    if (!this.isTooLarge(bytes.subarray(0, unchanged))) return;
    yield { bytes: this.take(Buffer.alloc(0)), isWhole: false };
    this.isCut = true;
  }

  private isTooLarge(added: Buffer): boolean {
    if (this.limit !== undefined) return this.size > this.limit;
    this.cost ??= new ParseCost();
    this.cost.add(added);
    return this.cost.isTooHigh;
  }

  private take(last: Buffer): Buffer {
    const bytes = this.gathered.length === 0 ? last : Buffer.concat([...this.gathered, last]);
    const isMarked = this.isFirst && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    this.isFirst = false;
    this.gathered = [];
    this.size = 0;
    this.cost = undefined;
    return isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  }
}

/** Splits the events of a body. The parameters are those of `SseSplitter`. */
export async function* sseParts(
  body: AnswerBody | AnswerChunks,
  limit?: number,
  answered?: AnsweredWithRoom,
): AsyncGenerator<SsePart> {
  const splitter = new SseSplitter(limit, answered);
  for await (const chunk of chunksOf(body, answered)) {
    const entering = splitter.requireRoomFor(chunk);
    if (entering !== undefined) await entering;
    yield* splitter.push(chunk);
  }
}

/**
 * The indexes after all empty lines, in one pass; separate searches would read the same bytes repeatedly. A line ends
 * with LF, CR or both; any other rule would find other events than the caller does.
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

/** True if these bytes of an event stream end with the end of an event. */
export function endsEvent(bytes: Buffer): boolean {
  const [third, second, last] = [bytes.at(-3), bytes.at(-2), bytes.at(-1)];
  return last === LF && second === CR ? isLineEnd(third) : isLineEnd(last) && isLineEnd(second);
}

export function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

/** The data of an event as text; undefined for a comment or an event without data. */
export function dataOf(event: Buffer | string): string | undefined {
  const lines = (typeof event === 'string' ? event : event.toString('utf8')).split(/\r\n|\n|\r/);
  let data: string | undefined;
  for (const line of lines) {
    if (!line.startsWith('data:')) continue;
    const value = line.charAt(5) === ' ' ? line.slice(6) : line.slice(5);
    data = data === undefined ? value : `${data}\n${value}`;
  }
  return data;
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

/** An event with a JSON text. Between its values a line end is white space; in strings it is escaped. */
export function messageEvent(json: string): Buffer {
  return Buffer.from(`event: message\ndata: ${json.replaceAll(/[\r\n]+/g, ' ')}\n\n`);
}

/**
 * The JSON texts of the messages in an answer, which the service reads for an organization.
 * @param room for a large answer
 * @throws UpstreamMisbehaviour if an answer is too costly to parse, DomainError `answer_memory_exhausted`
 */
export async function* messagesIn(
  { body, contentType }: UpstreamAnswer,
  organizationId: string,
  room: AnswerRoom,
): AsyncGenerator<string> {
  const chunks = chunksForService(body, organizationId, room);
  if (contentType === 'text/event-stream') {
    for await (const { bytes, isWhole } of sseParts(chunks)) {
      const data = isWhole ? dataOf(bytes) : undefined;
      // An event can consist of its id alone (MCP 2025-11-25, transports, "Resumability").
      if (data !== undefined && data !== '') yield data;
    }
    return;
  }
  const tooLarge = (): Error => new UpstreamMisbehaviour('answered with more than the service accepts');
  yield (await wholeOf(chunks, tooLarge)).toString('utf8');
}

/** How many bytes a reader can be behind before the stream is destroyed; one further message can be buffered. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/**
 * Server-sent events (WHATWG HTML §9.2), one for each message. Those that the reader has not taken have room, unless
 * they are few. A reader that takes nothing is disconnected, so that it cannot keep the room.
 */
export class EventStream extends Readable {
  private room: OwnRoom | undefined;
  private heldBytes = 0;
  private stalled: NodeJS.Timeout | undefined;

  constructor(private readonly openRoom: () => OwnRoom) {
    super();
  }

  // Data is pushed when it arrives.
  override _read(): void {}

  override read(size?: number): Buffer | null {
    // Without a size, a paused stream would give all that is unread at once.
    const some = size ?? (this.readableLength > GATHERED_BYTES ? GATHERED_BYTES : undefined);
    const taken = super.read(some) as Buffer | null;
    if (this.readableLength <= GATHERED_BYTES) this.leaveRoom();
    else if (taken !== null) this.stalled?.refresh();
    return taken;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.leaveRoom();
    done(error);
  }

  /**
   * Returns false if the stream has ended, its reader is too slow, or there is no room for what is unread.
   * @param line JSON text without line breaks
   */
  send(line: Buffer): boolean {
    if (this.destroyed) return false;
    if (this.readableLength > MAX_UNREAD_BYTES) {
      this.endTooSlow();
      return false;
    }
    this.push(Buffer.concat([Buffer.from('event: message\ndata: '), line, Buffer.from('\n\n')]));
    if (this.readableLength > GATHERED_BYTES) this.holdUnread();
    return !this.destroyed;
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  private holdUnread(): void {
    this.room ??= this.openRoom();
    this.stalled ??= setTimeout(() => this.endTooSlow(), STALLED_MS).unref();
    try {
      this.room.reserve(Math.max(0, this.readableLength - this.heldBytes));
      this.heldBytes = Math.max(this.readableLength, this.heldBytes);
    } catch (error) {
      this.destroy(toUpstreamError(error, 'the end of the stream'));
    }
  }

  private leaveRoom(): void {
    if (this.room === undefined) return;
    clearTimeout(this.stalled);
    this.room.leave();
    this.room = this.stalled = undefined;
    this.heldBytes = 0;
  }

  private endTooSlow(): void {
    this.destroy(new UpstreamError('cancelled', 'The reader of the stream is too slow.'));
  }
}
