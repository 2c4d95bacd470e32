const OPENING = /\s*([{[])/y;
const CLOSING = /\s*[}\]]/y;
const SEPARATOR = /\s*([:,])/y;
const STRING = /\s*"(?:[^"\\]+|\\[^u]|\\u[\da-f]{4})*("?)/iy;
const SCALAR = /\s*([^\s{}[\]",:]+)/y;
const NUMBER_PREFIX = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/i;

/**
 * Reads JSON that may still be growing, as the input of a tool call does while a model writes it: open strings, arrays,
 * objects and literals are closed, and what cannot be kept (half a key, half an escape, a dangling comma) is left out.
 * Agrees with the function of the same name in `ai`, which is asynchronous only in its signature.
 *
 * @returns the value, or undefined if there is nothing yet or the text is not the beginning of JSON
 */
export function parsePartialJson(text: string): unknown {
  return parse(text) ?? parse(complete(text));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Cuts the text after the last place where it can be closed, and closes it there. */
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

/** The last token of the text may be half a literal or half a number. */
function completeScalar(token: string): string | undefined {
  const literal = ['true', 'false', 'null'].find((word) => word.startsWith(token));
  return literal ?? NUMBER_PREFIX.exec(token)?.[0];
}
