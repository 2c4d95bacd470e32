import { parseJson } from '../is-record.js';

const OPENING = /\s*([{[])/y;
const CLOSING = /\s*[}\]]/y;
const SEPARATOR = /\s*([:,])/y;
const STRING = /\s*"(?:[^"\\]+|\\[^u]|\\u[\da-f]{4})*("?)/iy;
const SCALAR = /\s*([^\s{}[\]",:]+)/y;
const NUMBER_PREFIX = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/i;

/**
 * Parses incomplete JSON, such as the input of a tool call that a model is still writing. Completes open strings,
 * arrays, objects and literals, and drops incomplete keys, escapes and dangling commas. Returns the same values as the
 * function of this name in `ai`, which has an asynchronous signature and refuses `__proto__`.
 *
 * @returns the value, or undefined if the text is empty or not a prefix of JSON
 */
export function parsePartialJson(text: string): unknown {
  return parseJson(text) ?? parseJson(complete(text));
}

/** Cuts the text at the last position where it can be completed, and completes it there. */
function complete(text: string): string {
  const closers: string[] = [];
  let position = 0;
  let atKey = false;
  let completed = '';

  const take = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = position;
    const match = token.exec(text);
    if (match) position = token.lastIndex;
    return match;
  };
  const keep = (ending = '', end = position) => {
    completed = text.slice(0, end) + ending + closers.toReversed().join('');
  };

  while (position < text.length) {
    const opening = take(OPENING);
    if (opening) {
      atKey = opening[1] === '{';
      closers.push(atKey ? '}' : ']');
      keep();
      continue;
    }
    if (take(CLOSING)) {
      closers.pop();
      keep();
      continue;
    }
    const separator = take(SEPARATOR);
    if (separator) {
      atKey = separator[1] === ',' && closers.at(-1) === '}';
      continue;
    }
    const string = take(STRING);
    if (string) {
      const closed = string[1] === '"';
      if (!atKey) keep(closed ? '' : '"');
      if (!closed) return completed;
      continue;
    }
    const scalar = take(SCALAR)?.[1];
    if (scalar === undefined) return completed;
    if (position < text.length) {
      keep();
      continue;
    }
    const ending = completeScalar(scalar);
    if (ending !== undefined) keep(ending, position - scalar.length);
  }
  return completed;
}

/** Completes the last token of the text, which can be part of a literal or number. */
function completeScalar(token: string): string | undefined {
  const literal = ['true', 'false', 'null'].find((word) => word.startsWith(token));
  return literal ?? NUMBER_PREFIX.exec(token)?.[0];
}
