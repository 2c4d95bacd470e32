import { DomainError } from '../common/domain-error.js';

/** Up to so many keys, comparing with each is quicker than making a set. */
const FEW = 8;

/** Where a value stands in a text, as indexes of UTF-16 code units. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Where the values of a JSON-RPC message stand that may be replaced on its way. */
export interface ValueRanges {
  /** Of the id; undefined if it is neither a string nor a number. */
  readonly id: TextRange | undefined;
  /** Of `params.name`; undefined if it is not there, or neither a string nor a number. */
  readonly name: TextRange | undefined;
}

const MAX_DEPTH = 64;
const ENVELOPE = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/** The members of `params` that decide something here. */
const PARAMS = new Set(['name', 'arguments', 'uri', 'cursor', 'ref', 'argument', 'task', '_meta']);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Looks at what `JSON.parse` does not tell about a text that it has accepted: JSON parsers differ in which of two equal
 * keys counts, and some take keys of any case. What is decided here on one reading must not be read otherwise upstream
 * (RFC 8259 §4), so a message that can be read in two ways is refused.
 * @throws DomainError `invalid_rpc_request`
 */
export function inspectJson(text: string): ValueRanges {
  /** The keys of every open object; null for an open array. */
  const open: (ObjectKeys | null)[] = [];
  let expectsKey = false;
  let inParams = false;
  let id: TextRange | undefined;
  let name: TextRange | undefined;
  const hasEscapes = text.includes('\\');
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = hasEscapes ? endOfString(text, i) : text.indexOf('"', i + 1) + 1;
      if (expectsKey) {
        const key = keyOf(text, i, end);
        if (open.at(-1)?.add(key) === false) throw ambiguous('A key is given twice in one object.');
        if (open.length === 1) {
          refuseVariant(key, ENVELOPE);
          inParams = key === 'params';
          if (key === 'id') id = valueAfter(text, end);
        } else if (open.length === 2 && inParams) {
          refuseVariant(key, PARAMS);
          if (key === 'name') name = valueAfter(text, end);
        }
        expectsKey = false;
      }
      i = end - 1;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      open.push(char === OPEN_BRACE ? new ObjectKeys() : null);
      expectsKey = char === OPEN_BRACE;
      if (open.length > MAX_DEPTH) throw ambiguous(`The body is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      open.pop();
      expectsKey = false;
    } else if (char === COMMA) {
      expectsKey = open.at(-1) !== null;
    }
  }
  return { id, name };
}

/** The index after the closing quote. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    const char = text.charCodeAt(i);
    if (char === BACKSLASH) i++;
    else if (char === QUOTE) return i + 1;
  }
}

function keyOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function refuseVariant(key: string, known: ReadonlySet<string>): void {
  if (known.has(key)) return;
  // Both ways: `ſ` becomes `S` only when raised, the Kelvin sign becomes `k` only when lowered.
  const folded = key.toUpperCase().toLowerCase();
  if (known.has(folded)) {
    throw ambiguous('A key is spelled in another case than MCP spells it.');
  }
}

/** A string or a number; the range of anything else is of no interest. */
function valueAfter(text: string, keyEnd: number): TextRange | undefined {
  let start = keyEnd;
  while (isBetween(text.charCodeAt(start))) start++;
  if (text.charCodeAt(start) === QUOTE) return { start, end: endOfString(text, start) };
  let end = start;
  while (isInNumber(text.charCodeAt(end))) end++;
  return end === start ? undefined : { start, end };
}

/** White space (RFC 8259 §2) and the colon. */
function isBetween(char: number): boolean {
  return char === 0x20 || char === COLON || char === 0x0a || char === 0x0d || char === 0x09;
}

/** Digits, signs, the point and the exponent's letter (RFC 8259 §6). No other value begins with one of these. */
function isInNumber(char: number): boolean {
  const isDigit = char >= 0x30 && char <= 0x39;
  return isDigit || char === 0x2d || char === 0x2b || char === 0x2e || char === 0x45 || char === 0x65;
}

function ambiguous(detail: string): DomainError {
  return new DomainError('invalid_rpc_request', detail);
}

/** The keys of one JSON object, as they are read. */
class ObjectKeys {
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** Returns false for a key that was there already. */
  add(key: string): boolean {
    if (this.many === undefined && this.few.length < FEW) {
      if (this.few.includes(key)) return false;
      this.few.push(key);
      return true;
    }
    this.many ??= new Set(this.few);
    if (this.many.has(key)) return false;
    this.many.add(key);
    return true;
  }
}
