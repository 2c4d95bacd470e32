/** Parsing, changing and writing it again takes 150 ms at most, strings of text for the most part. */
export const MAX_PARSED_BYTES = 8 * 1024 * 1024;
/** The same, if it is made to be costly (distinct keys). As a list: 10,000 tools with two dozen signs each. */
export const MAX_PARSED_SIGNS = 250_000;
/** `JSON.stringify` comes to the end of the stack at some thousands. */
const MAX_DEPTH = 1_000;

/** What a byte is to the count; what is none of these has 0. */
const SEPARATOR = 1;
const CLOSE = 2;
const OPEN = 3;
const QUOTE = 4;
const LINE_END = 5;
const BACKSLASH = 0x5c;
const LF = 0x0a;

const KINDS = new Uint8Array(256);
for (const [signs, kind] of Object.entries({
  ',:': SEPARATOR,
  '}]': CLOSE,
  '{[': OPEN,
  '"': QUOTE,
  '\r\n': LINE_END,
})) {
  for (const sign of signs) KINDS[sign.charCodeAt(0)] = kind;
}

/**
 * Tells JSON that is not to be parsed where others wait for the thread. What parsing costs grows with the number of values far
 * more than with the bytes: 32 MiB of `{},` take over a second. Counted are the signs that stand before values, outside of
 * strings, and the ends of lines.
 */
export class ParseCost {
  private size = 0;
  private signs = 0;
  private depth = 0;
  private deepest = 0;
  private inString = false;
  private isEscaped = false;
  private isLineEmpty = false;

  /** @param isStream of events, which are parsed one by one: each has a count of its own. */
  constructor(private readonly isStream = false) {}

  /** Is it more than may be parsed? */
  get isTooHigh(): boolean {
    return this.signs > MAX_PARSED_SIGNS || this.size > MAX_PARSED_BYTES || this.deepest > MAX_DEPTH;
  }

  /** Takes the next bytes of a text. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.isTooHigh;) {
      const end = this.inString ? this.readString(bytes, at) : this.read(bytes, at);
      this.size += end - at;
      at = end;
    }
  }

  /** Returns where to go on. */
  private read(bytes: Uint8Array, start: number): number {
    let { signs, depth, deepest } = this;
    let at = start;
    let kind = 0;
    for (; at < bytes.length; at++) {
      kind = KINDS[bytes[at] ?? 0] ?? 0;
      if (kind === 0) continue;
      if (kind === SEPARATOR) signs++;
      else if (kind === CLOSE) depth--;
      else if (kind === OPEN) {
        signs++;
        if (++depth > deepest) deepest = depth;
      } else break;
    }
    this.signs = signs;
    this.depth = depth;
    this.deepest = deepest;
    if (at > start) this.isLineEmpty = false;
    if (at === bytes.length) return at;
    if (kind === QUOTE) this.inString = true;
    else this.endLine(bytes[at] === LF);
    return at + 1;
  }

  private readString(bytes: Uint8Array, start: number): number {
    this.isLineEmpty = false;
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      const kind = KINDS[byte] ?? 0;
      if (kind === LINE_END || (kind === QUOTE && !this.isEscaped)) {
        // JSON has no raw end of a line in a string (RFC 8259 §7): it is the stream's, or this is no JSON.
        this.inString = false;
        this.isEscaped = false;
        if (kind === LINE_END) this.endLine(byte === LF);
        return at + 1;
      }
      this.isEscaped = byte === BACKSLASH && !this.isEscaped;
    }
    return bytes.length;
  }

  private endLine(isLf: boolean): void {
    const isEventOver = this.isStream && isLf && this.isLineEmpty;
    this.signs++;
    this.isLineEmpty ||= isLf;
    if (isEventOver) this.size = this.signs = this.depth = this.deepest = 0;
  }
}
