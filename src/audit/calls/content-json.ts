import { HIDDEN } from '../../core/credential-forms.js';
import { parseJson } from '../../core/is-record.js';
import { plainText } from '../../core/plain-text.js';
import { redactText, isSecretName } from '../../core/redact-text.js';

/** Size limit of the recorded arguments, and of the recorded result, in bytes of UTF-8. */
const MAX_BYTES = 16 * 1024;
const MAX_DEPTH = 64;

/** Keys of the name in a name-value pair, such as the headers of a HAR file. */
const NAMING = ['name', 'key', 'header', 'field'];
const NAMED = new Set(['value', 'values', 'val']);
/** Keys of environment variables, whose members can have any name. */
const ENVIRONMENTS = new Set(['env', 'environment']);
/** A list element that is a name or option (`["--token", "…"]`), not a sentence. */
const ELEMENT_NAME = /^[\w.-]{1,64}$/;
const BEGINS_JSON = /^\s*[[{]/;

/**
 * Converts arguments or a result to the JSON text that is recorded. Secrets are replaced, and PostgreSQL's `jsonb`
 * accepts the text for any input. More than 16 KiB or 64 levels become `{"truncated": true, "bytes": <original size>}`.
 * @param value as returned by `JSON.parse`
 * @param options.listsNames elements of lists are names, such as those of tools; otherwise a list can be a command
 *   line, in which a
 * secret follows its name
 */
export function contentJson(value: unknown, { listsNames = false } = {}): string {
  try {
    const text = new ContentWriter(MAX_BYTES, listsNames);
    text.write(value, 0);
    return text.json;
  } catch (error) {
    if (error !== TOO_LARGE) throw error;
    return JSON.stringify({ truncated: true, bytes: sizeOf(value) });
  }
}

const TOO_LARGE = new Error('The content is too large or too deeply nested to record.');

/** Writes JSON text without secrets, up to the size limit. */
class ContentWriter {
  json = '';
  private left: number;

  constructor(
    maxBytes: number,
    private readonly listsNames: boolean,
  ) {
    this.left = maxBytes;
  }

  /** @throws TOO_LARGE */
  write(value: unknown, depth: number): void {
    if (depth > MAX_DEPTH) throw TOO_LARGE;
    if (typeof value === 'string') this.put(quoted(this.redacted(value, depth)));
    else if (Array.isArray(value)) this.writeList(value, depth);
    else if (typeof value === 'object' && value !== null) this.writeObject(value, depth);
    // The value comes from JSON. Any other value becomes null, as in JSON.stringify.
    else this.put(typeof value === 'boolean' || Number.isFinite(value) ? String(value) : 'null');
  }

  private writeList(list: readonly unknown[], depth: number): void {
    this.put('[');
    let before: unknown;
    for (const [index, element] of list.entries()) {
      if (index > 0) this.put(',');
      const isValue =
        !this.listsNames && typeof before === 'string' && ELEMENT_NAME.test(before) && isSecretName(before);
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

  /** Results often contain JSON as text: rewrites such text without its secrets. */
  private redacted(text: string, depth: number): string {
    this.requireRoomFor(text);
    const inner = BEGINS_JSON.test(text) ? parseJson(text) : undefined;
    if (inner === undefined) return redactText(text);
    const writer = new ContentWriter(this.left, this.listsNames);
    writer.write(inner, depth + 1);
    return writer.json;
  }

  /** Avoids scanning a text that exceeds the limit anyway. */
  private requireRoomFor(text: string): void {
    if (text.length > this.left) throw TOO_LARGE;
  }

  private put(piece: string): void {
    this.left -= Buffer.byteLength(piece);
    if (this.left < 0) throw TOO_LARGE;
    this.json += piece;
  }
}

/** `jsonb` accepts neither NUL nor lone surrogates, even if escaped. */
function quoted(text: string): string {
  return JSON.stringify(plainText(text));
}

function isNameOfSecret(object: object, naming: string): boolean {
  const value: unknown = Object.hasOwn(object, naming) ? Reflect.get(object, naming) : undefined;
  return typeof value === 'string' && ELEMENT_NAME.test(value) && isSecretName(value);
}

/** Undefined if the value is too deep to measure. */
function sizeOf(value: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return undefined;
  }
}
