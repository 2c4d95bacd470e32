/** The position of a value in a text, as indexes of UTF-16 code units. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
/** The bit that distinguishes `[` from `{` and `]` from `}`. */
const LOWER = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** White space of JSON (RFC 8259 §2). */
const SPACE = ' \t\n\r';

/**
 * The position of a member's value in the JSON text of an object.
 * @param text valid JSON
 * @param start the index of the object's brace, or of white space before it
 */
export function memberRange(text: string, start: number, name: string): TextRange | undefined {
  let depth = 0;
  let isInValue = false;
  let value: number | undefined;
  let key: string | undefined;
  for (let at = start; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) {
      const end = endOfString(text, at);
      if (depth === 1 && !isInValue) key = JSON.parse(text.slice(at, end)) as string;
      at = end - 1;
    } else if ((sign | LOWER) === OPEN_BRACE) {
      depth++;
    } else if ((sign | LOWER) === CLOSE_BRACE) {
      if (depth === 1) return value === undefined ? undefined : trimmed(text, value, at);
      depth--;
    } else if (depth !== 1) {
      continue;
    } else if (sign === COMMA) {
      if (value !== undefined) return trimmed(text, value, at);
      isInValue = false;
    } else if (sign === COLON) {
      isInValue = true;
      if (key === name) value = at + 1;
    }
  }
  return undefined;
}

/**
 * The number of members that are written in the JSON text of an object. It exceeds the number of keys of the parsed
 * object if a key is written more than once, which parsers read differently (RFC 8259 §4). Takes half as long as
 * parsing the text.
 * @param text valid JSON of an object
 */
export function countMembers(text: string): number {
  let depth = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfString(text, at) - 1;
    else if ((sign | LOWER) === OPEN_BRACE) depth++;
    else if ((sign | LOWER) === CLOSE_BRACE) depth--;
    else if (sign === COLON && depth === 1) count++;
  }
  return count;
}

/**
 * Sets a member of an object in a JSON text. Leaves all other bytes unchanged, including numbers beyond double
 * precision.
 * @param start the index of the object's brace
 * @param value JSON text
 */
export function withMember(text: string, start: number, name: string, value: string): string {
  const range = memberRange(text, start, name);
  if (range !== undefined) return text.slice(0, range.start) + value + text.slice(range.end);
  return withNewMember(text, start, name, value);
}

/** Like `withMember`, for a member that the object does not have. Skips the search. */
export function withNewMember(text: string, start: number, name: string, value: string): string {
  const first = trimmed(text, start + 1, text.length).start;
  const comma = text[first] === '}' ? '' : ',';
  return `${text.slice(0, start + 1)}${JSON.stringify(name)}:${value}${comma}${text.slice(first)}`;
}

/** The end of the text before a member's value: its key, with the comma before it if there is one. */
const KEY_BEFORE = /,?[ \t\n\r]*"(?:[^"\\]|\\.)*"[ \t\n\r]*:[ \t\n\r]*$/;
/** More than the text of a key; a text with more white space than that keeps the member. */
const MAX_KEY = 1_000;

/** Removes a member of an object from a JSON text. @param start the index of the object's brace */
export function withoutMember(text: string, start: number, name: string): string {
  const range = memberRange(text, start, name);
  if (range === undefined) return text;
  const earliest = Math.max(start + 1, range.start - MAX_KEY);
  const key = KEY_BEFORE.exec(text.slice(earliest, range.start));
  if (key === null) return text;
  const after = trimmed(text, range.end, text.length).start;
  const isFirst = !key[0].startsWith(',');
  return text.slice(0, earliest + key.index) + text.slice(isFirst && text[after] === ',' ? after + 1 : range.end);
}

/** The index after the closing quote. Searching is faster than reading, but not from one escaped quote to the next. */
export function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  const backslash = text.charCodeAt(quote - 1) === BACKSLASH ? text.indexOf('\\', start + 1) : quote;
  if (backslash === quote) return quote + 1;
  for (let at = backslash; ; at++) {
    const sign = text.charCodeAt(at);
    if (sign === BACKSLASH) at++;
    else if (sign === QUOTE) return at + 1;
  }
}

function trimmed(text: string, start: number, end: number): TextRange {
  let [first, last] = [start, end];
  while (SPACE.includes(text[first] ?? 'x')) first++;
  while (SPACE.includes(text[last - 1] ?? 'x')) last--;
  return { start: first, end: last };
}
