import { DomainError } from '../domain-error.js';
import { endOfString, type TextRange } from './json-member.js';

/** Up to this many keys, a linear search is faster than a set. */
const FEW = 8;

/** Positions of the values of a JSON-RPC message that the proxy can rewrite. */
interface ValueRanges {
  /** The id; undefined if it is neither a string nor a number. */
  readonly id: TextRange | undefined;
  /** `params.name`; undefined if it is missing, or neither a string nor a number. */
  readonly name: TextRange | undefined;
}

const MAX_DEPTH = 64;
const ENVELOPE = spellings('jsonrpc', 'id', 'method', 'params', 'result', 'error');
/** The members of `params` that the service evaluates. */
const PARAMS = spellings(
  'name',
  'arguments',
  'uri',
  'cursor',
  'ref',
  'argument',
  'task',
  'taskId',
  'requestState',
  'inputResponses',
  '_meta',
);

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Checks a text that `JSON.parse` has accepted for ambiguity. JSON parsers differ in which of two equal keys they use
 * (RFC 8259 §4), and some ignore case. The upstream must not interpret a message differently from this service, so
 * ambiguous messages are rejected.
 * @throws DomainError `invalid_rpc_request`
 */
export function inspectJson(text: string): ValueRanges {
  /** The keys of each open object; null for an open array. */
  const open: (ObjectKeys | null)[] = [];
  let expectsKey = false;
  let inParams = false;
  let id: TextRange | undefined;
  let name: TextRange | undefined;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      if (expectsKey) {
        const key = keyOf(text, i, end);
        if (open.at(-1)?.add(key) === false) throw ambiguous('An object contains a duplicate key.');
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

function keyOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

/** Names by what all their variants have in common. */
function spellings(...names: string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [folded(name), name]));
}

function folded(key: string): string {
  // Check both cases: `ſ` maps to `S` only in upper case, the Kelvin sign to `k` only in lower case.
  return key.toUpperCase().toLowerCase();
}

function refuseVariant(key: string, known: ReadonlyMap<string, string>): void {
  if (known.get(key) === key) return;
  const spelling = known.get(folded(key));
  if (spelling !== undefined && spelling !== key) throw ambiguous('A key differs in case from its spelling in MCP.');
}

/** The range of a string or a number; undefined for any other value. */
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

/** The keys of one JSON object, collected during the scan. */
class ObjectKeys {
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** Returns false for a duplicate key. */
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
