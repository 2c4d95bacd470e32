import { parseJson } from '../../../core/is-record.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;

/** Longer keys and ids cannot be the expected ones. */
const MAX_CAPTURED = 2048;
/** JSON-RPC has four. A member costs more to read than nested values do. */
const MAX_MEMBERS = 100;
/** For strings longer than this, a native search is faster. */
const NEAR = 32;
/** `[` and `{`, and so `]` and `}`, differ in this bit. */
const LOWER = 0x20;
const ID_KEY = 'id';

/**
 * Checks which request an answer names, in the bytes of an answer that is too large to parse. A client tells answers
 * apart by the id alone, and would take one with another id for the answer of another server.
 */
export class AnsweredId {
  /** True once the expected id has been seen. */
  found = false;
  private readonly expected: unknown;
  private failed = false;
  private depth = 0;
  private members = 0;
  private inString = false;
  /** True if a backslash escapes the next byte. */
  private isEscaped = false;
  private expectsKey = false;
  private key: string | undefined;
  /** True if the id's value is next. */
  private awaitsId = false;
  /** The key or id read so far, one character for each byte. */
  private captured: string | undefined;

  /** @param expected JSON text */
  constructor(expected: string) {
    this.expected = JSON.parse(expected);
  }

  /** Reads the next bytes. Returns false once they contain another id, a second id, or do not begin an object. */
  push(chunk: Buffer): boolean {
    for (let i = 0; i < chunk.length && !this.failed;) {
      if (this.depth > 1) i = this.skim(chunk, i);
      else i = this.inString ? this.readString(chunk, i) : this.read(chunk, i);
    }
    return !this.failed;
  }

  /** Skips nested values. Returns the position to continue at. */
  private skim(chunk: Buffer, start: number): number {
    let { depth } = this;
    let i = start;
    while (i < chunk.length && depth > 1) {
      if (this.inString) {
        i = this.skimString(chunk, i);
        continue;
      }
      const byte = chunk[i++] ?? 0;
      if (byte === QUOTE) this.inString = true;
      else if ((byte | LOWER) === OPEN_BRACE) depth++;
      else if ((byte | LOWER) === CLOSE_BRACE) depth--;
    }
    this.depth = depth;
    return i;
  }

  private skimString(chunk: Buffer, start: number): number {
    let i = this.isEscaped ? start + 1 : start;
    this.isEscaped = false;
    for (const near = Math.min(chunk.length, i + NEAR); i < near; i++) {
      const byte = chunk[i];
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) {
        this.inString = false;
        return i + 1;
      }
    }
    if (i < chunk.length) return this.readString(chunk, i);
    this.isEscaped = i > chunk.length;
    return chunk.length;
  }

  /** Returns the position to continue at. */
  private readString(chunk: Buffer, start: number): number {
    let end = start;
    if (this.isEscaped) {
      this.isEscaped = false;
      end++;
    }
    for (;;) {
      const quote = chunk.indexOf(QUOTE, end);
      const stop = quote === -1 ? chunk.length : quote;
      let backslashes = 0;
      while (stop - backslashes > end && chunk[stop - backslashes - 1] === BACKSLASH) backslashes++;
      const isOdd = backslashes % 2 === 1;
      if (quote !== -1 && isOdd) {
        end = quote + 1;
        continue;
      }
      if (quote === -1) this.isEscaped = isOdd;
      else this.inString = false;
      this.capture(chunk, start, stop);
      if (!this.inString) this.endString();
      return quote === -1 ? stop : stop + 1;
    }
  }

  private read(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (byte === QUOTE) {
      this.inString = true;
      const isWanted = this.depth === 1 && (this.expectsKey || this.awaitsId);
      this.captured = isWanted ? '' : undefined;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (this.awaitsId || (this.depth === 0 && byte === OPEN_BRACKET)) this.failed = true;
      this.depth++;
      if (this.depth === 1) this.expectsKey = true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (this.depth === 1) this.endValue();
      this.depth--;
    } else if (this.depth === 1) {
      if (byte === COMMA) {
        this.endValue();
        this.expectsKey = true;
      } else if (byte === COLON && this.key !== undefined) {
        this.awaitsId = this.key === ID_KEY;
        this.captured = this.awaitsId ? '' : undefined;
        this.key = undefined;
        this.expectsKey = false;
      } else if (this.awaitsId && byte > SPACE) {
        this.captured += String.fromCharCode(byte);
        if ((this.captured?.length ?? 0) > MAX_CAPTURED) this.failed = true;
      }
    }
    return at + 1;
  }

  private capture(chunk: Buffer, start: number, end: number): void {
    if (this.captured === undefined) return;
    if (this.captured.length + end - start > MAX_CAPTURED) this.captured = undefined;
    else this.captured += chunk.toString('latin1', start, end);
  }

  private endString(): void {
    if (this.depth !== 1) return;
    const text =
      this.captured === undefined ? undefined : parseJson(`"${Buffer.from(this.captured, 'latin1').toString('utf8')}"`);
    if (this.expectsKey) {
      this.key = typeof text === 'string' ? text : '';
      if (++this.members > MAX_MEMBERS || isIdVariant(this.key)) this.failed = true;
    } else if (this.awaitsId) this.judge(text);
  }

  /** A number ends at the byte that follows it. */
  private endValue(): void {
    if (this.awaitsId) this.judge(parseJson(this.captured ?? ''));
  }

  private judge(id: unknown): void {
    this.awaitsId = false;
    if (this.found || id !== this.expected) this.failed = true;
    this.found = true;
  }
}

/** The error for an answer with another id than the expected one, or without an id. */
export function wrongAnswerError(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream answered a different request.');
}

/** True if parsers that match keys case-insensitively take this other key for the id. */
export function isIdVariant(key: string): boolean {
  return key !== ID_KEY && key.length === ID_KEY.length && key.toUpperCase().toLowerCase() === ID_KEY;
}

/** Replaces each occurrence of the sent id in an answer with the caller's id. */
export function replaceAll(bytes: Buffer, from: Buffer, to: Buffer): Buffer {
  const parts: Buffer[] = [];
  let start = 0;
  for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, start)) {
    parts.push(bytes.subarray(start, at), to);
    start = at + from.length;
  }
  return start === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(start)]);
}

/**
 * The same for a stream. Holds back only what could begin the id: what holds back nothing is passed on without a copy.
 */
export class StreamingReplacement {
  private held: Buffer = Buffer.alloc(0);
  /** True once the id has been seen. */
  found = false;

  constructor(
    private readonly from: Buffer,
    private readonly to: Buffer,
  ) {}

  /** Returns the bytes that can be sent. */
  push(chunk: Buffer): Buffer {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    const replaced: Buffer[] = [];
    let start = 0;
    for (let at = bytes.indexOf(this.from); at !== -1; at = bytes.indexOf(this.from, start)) {
      this.found = true;
      replaced.push(bytes.subarray(start, at), this.to);
      start = at + this.from.length;
    }
    const keep = this.beginningIn(bytes, Math.max(start, bytes.length - this.from.length + 1));
    replaced.push(bytes.subarray(start, keep));
    this.held = bytes.subarray(keep);
    return replaced.length === 1 && replaced[0] !== undefined ? replaced[0] : Buffer.concat(replaced);
  }

  /** Where the bytes end with a beginning of the id; their length if they do not. */
  private beginningIn(bytes: Buffer, start: number): number {
    const [first = 0] = this.from;
    for (let at = bytes.indexOf(first, start); at !== -1; at = bytes.indexOf(first, at + 1)) {
      if (bytes.subarray(at).equals(this.from.subarray(0, bytes.length - at))) return at;
    }
    return bytes.length;
  }

  /** Returns the bytes that were held back. */
  flush(): Buffer {
    const rest = this.held;
    this.held = Buffer.alloc(0);
    return rest;
  }
}
