import type { TextRange } from '../jsonrpc/inspect-json.js';

const SIGNS = /[[\]{}",:]/g;
/** White space of JSON (RFC 8259 §2). */
const SPACE = ' \t\n\r';

/**
 * Where the value of a member stands in the JSON text of an object.
 * @param text what `JSON.parse` accepts
 * @param start the index of the object's brace, or of white space before it
 */
export function memberRange(text: string, start: number, name: string): TextRange | undefined {
  const signs = new RegExp(SIGNS);
  signs.lastIndex = start;
  let depth = 0;
  let isInValue = false;
  let value: number | undefined;
  let key: string | undefined;
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    const [sign] = found;
    if (sign === '"') {
      signs.lastIndex = endOfString(text, found.index);
      if (depth === 1 && !isInValue) key = JSON.parse(text.slice(found.index, signs.lastIndex)) as string;
    } else if (sign === '{' || sign === '[') {
      depth++;
    } else if (sign === ':') {
      if (depth !== 1) continue;
      isInValue = true;
      if (key === name) value = found.index + 1;
    } else {
      if (depth === 1 && value !== undefined) return trimmed(text, value, found.index);
      if (depth === 1) isInValue = false;
      if (sign !== ',' && --depth === 0) return undefined;
    }
  }
  return undefined;
}

/**
 * The same text with a member of an object in it set. Every other byte stays, numbers beyond a double's precision too.
 * @param start the index of the object's brace
 * @param value JSON text
 */
export function withMember(text: string, start: number, name: string, value: string): string {
  const range = memberRange(text, start, name);
  if (range !== undefined) return text.slice(0, range.start) + value + text.slice(range.end);
  return withNewMember(text, start, name, value);
}

/** The same for a member that the object does not have, which need not be looked for. */
export function withNewMember(text: string, start: number, name: string, value: string): string {
  const first = trimmed(text, start + 1, text.length).start;
  const comma = text[first] === '}' ? '' : ',';
  return `${text.slice(0, start + 1)}${JSON.stringify(name)}:${value}${comma}${text.slice(first)}`;
}

/** The index after the closing quote. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text[first - 1] === '\\') first--;
  return (index - first) % 2 === 1;
}

function trimmed(text: string, start: number, end: number): TextRange {
  let [first, last] = [start, end];
  while (SPACE.includes(text[first] ?? 'x')) first++;
  while (SPACE.includes(text[last - 1] ?? 'x')) last--;
  return { start: first, end: last };
}
