import { HIDDEN } from '../common/credential-forms.js';
import { redactText } from './redact-text.js';
import { isSecretName } from './secret-name.js';

/** Longest JSON text that is kept of the arguments, and of the result, in bytes of UTF-8. */
const MAX_BYTES = 16 * 1024;
const MAX_DEPTH = 64;

/** In a list of names with their values, such as the headers of a HAR file. */
const NAMING = ['name', 'key', 'header', 'field'];
const NAMED = new Set(['value', 'values', 'val']);
/** Their members have any name: variables of the environment. */
const ENVIRONMENTS = new Set(['env', 'environment']);
/** A name or an option as one element of a list (`["--token", "…"]`), not a sentence. */
const ELEMENT_NAME = /^[\w.-]{1,64}$/;
const BEGINS_JSON = /^\s*[[{]/;

/**
 * Arguments or a result as the JSON text that is recorded: secrets replaced, and accepted by PostgreSQL's `jsonb` whatever
 * it was made of. More than 16 KiB or 64 levels become `{"truncated": true, "bytes": <size before>}`.
 * @param value as `JSON.parse` makes it
 */
export function contentJson(value: unknown): string {
  try {
    const text = new ContentWriter(MAX_BYTES);
    text.write(value, 0);
    return text.json;
  } catch (error) {
    if (error !== TOO_MUCH) throw error;
    return JSON.stringify({ truncated: true, bytes: sizeOf(value) });
  }
}

const TOO_MUCH = new Error('The content is too large or too deep to be recorded.');

/** Writes JSON text without what is secret in it, and no more than is kept. */
class ContentWriter {
  json = '';
  private left: number;

  constructor(maxBytes: number) {
    this.left = maxBytes;
  }

  /** @throws TOO_MUCH */
  write(value: unknown, depth: number): void {
    if (depth > MAX_DEPTH) throw TOO_MUCH;
    if (typeof value === 'string') this.put(quoted(this.redacted(value, depth)));
    else if (Array.isArray(value)) this.writeList(value, depth);
    else if (typeof value === 'object' && value !== null) this.writeObject(value, depth);
    // Nothing that JSON does not know comes here; it would be null there too.
    else this.put(typeof value === 'boolean' || Number.isFinite(value) ? String(value) : 'null');
  }

  private writeList(list: readonly unknown[], depth: number): void {
    this.put('[');
    let before: unknown;
    for (const [index, element] of list.entries()) {
      if (index > 0) this.put(',');
      const isValue = typeof before === 'string' && ELEMENT_NAME.test(before) && isSecretName(before);
      if (isValue) this.put(quoted(HIDDEN));
      else this.write(element, depth + 1);
      before = element;
    }
    this.put(']');
  }

  private writeObject(object: object, depth: number): void {
    const isNamedSecret = NAMING.some((naming) => isNameOfSecret(object, naming));
    let separator = '{';
    for (const [name, member] of Object.entries(object)) {
      if (member === undefined) continue;
      this.requireRoomFor(name);
      this.put(`${separator}${quoted(redactText(name))}:`);
      separator = ',';
      const plainName = name.toLowerCase();
      const isEnvironment = ENVIRONMENTS.has(plainName) && typeof member === 'object';
      const isHidden = isEnvironment || isSecretName(name) || (isNamedSecret && NAMED.has(plainName));
      if (isHidden) this.put(quoted(HIDDEN));
      else this.write(member, depth + 1);
    }
    this.put(separator === '{' ? '{}' : '}');
  }

  /** A text that is JSON by itself, as results often hold it, is written again without its secrets. */
  private redacted(text: string, depth: number): string {
    this.requireRoomFor(text);
    const inner = BEGINS_JSON.test(text) ? parsed(text) : undefined;
    if (inner === undefined) return redactText(text);
    const writer = new ContentWriter(this.left);
    writer.write(inner, depth + 1);
    return writer.json;
  }

  /** What is too long anyway need not be looked at. */
  private requireRoomFor(text: string): void {
    if (text.length > this.left) throw TOO_MUCH;
  }

  private put(piece: string): void {
    this.left -= Buffer.byteLength(piece);
    if (this.left < 0) throw TOO_MUCH;
    this.json += piece;
  }
}

/** `jsonb` holds neither NUL nor half a surrogate pair, escaped or not. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed().replaceAll('\0', '\ufffd'));
}

function isNameOfSecret(object: object, naming: string): boolean {
  const value: unknown = Object.hasOwn(object, naming) ? Reflect.get(object, naming) : undefined;
  return typeof value === 'string' && ELEMENT_NAME.test(value) && isSecretName(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined when it is too deep even to be measured. */
function sizeOf(value: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return undefined;
  }
}
