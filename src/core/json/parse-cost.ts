/** Parsing, changing and serializing this many bytes takes at most 150 ms, if most are text in strings. */
export const MAX_PARSED_BYTES = 8 * 1024 * 1024;
/**
 * The same time limit for JSON that is expensive to parse (distinct keys). Allows 10,000 tools with about 25 signs
 * each.
 */
export const MAX_PARSED_SIGNS = 250_000;
/** `JSON.stringify` overflows the stack at some thousands of levels. */
const MAX_DEPTH = 1_000;

/** Kinds of bytes. All other bytes have kind 0. */
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
 * Detects JSON that is too expensive to parse on the event loop. The cost depends on the number of values far more than
 * on the bytes: 32 MiB of `{},` take over a second. Counts the signs before values, outside of strings, and the line
 * ends.
 */
export class ParseCost {
  private size = 0;
  private signs = 0;
  private depth = 0;
  private deepest = 0;
  private inString = false;
  private isEscaped = false;
  private isLineEmpty = false;

  /**
   * @param isStream whether the text is an event stream, in which each event is parsed and counted separately
   * @param maxBytes more than usual for documents that are nearly all text, such as files in base64
   * @param maxSigns fewer than usual where values cost more than their parsing
   */
  constructor(
    private readonly isStream = false,
    private readonly maxBytes = MAX_PARSED_BYTES,
    private readonly maxSigns = MAX_PARSED_SIGNS,
  ) {}

  /** Whether the text exceeds a limit. */
  get isTooHigh(): boolean {
    return this.signs > this.maxSigns || this.size > this.maxBytes || this.deepest > MAX_DEPTH;
  }

  /** The bytes of the text so far, up to the limit; of an event stream, those of the current event. */
  get bytes(): number {
    return this.size;
  }

  /** Counts the next bytes of a text. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.isTooHigh;) {
      const end = this.inString ? this.readString(bytes, at) : this.read(bytes, at);
      this.size += end - at;
      at = end;
    }
  }

  /** Returns the index of the next unread byte. */
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
        // JSON strings contain no raw line ends (RFC 8259 §7): it belongs to the stream, or the text is not JSON.
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
