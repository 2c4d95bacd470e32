import { isRecord } from '../../core/is-record.js';
import { ASSERTED_FORMATS } from './schema-validator.js';

/**
 * A schema reduced to keywords that check in bounded time: those of `READERS`, well-formed and few, without
 * annotations. It contains no reference and no regular expression, so a check compares each of its nodes with each node
 * of the arguments at most once.
 */
export interface PlainForm {
  readonly schema: object;
  /** The number of subschemas and names. */
  readonly nodes: number;
  /** True if it measures texts, so that their lengths add to the cost. */
  readonly measuresText: boolean;
}

/** Compiling a form of this size once takes the main thread a few milliseconds. */
const MAX_NODES = 64;
const MAX_DEPTH = 10;
const MAX_CHARACTERS = 16 * 1024;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const FORMATS = new Set<string>(ASSERTED_FORMATS);

/**
 * Keywords that a plain schema cannot have. Keywords in neither list are annotations or unknown, and have no effect.
 */
const NOT_PLAIN = new Set([
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  '$async',
  'pattern',
  'patternProperties',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'if',
  'then',
  'else',
]);

/** Thrown if the schema is not plain; `plainFormOf` catches it. */
class NotPlain extends Error {}

/**
 * The plain form of a schema; undefined if it has none. Stops reading once the schema exceeds the limits of a plain
 * one.
 */
export function plainFormOf(schema: object): PlainForm | undefined {
  const reader = new PlainReader();
  try {
    return { schema: reader.read(schema, 0), nodes: reader.nodes, measuresText: reader.measuresText };
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

type KeywordReader = (reader: PlainReader, value: unknown, depth: number) => unknown;

const READERS = new Map<string, KeywordReader>([
  ['type', (_, value) => demand(isTypes(value), value)],
  ['enum', (reader, value) => reader.list(value, (item) => reader.scalar(item))],
  ['const', (reader, value) => reader.scalar(value)],
  ['properties', (reader, value, depth) => reader.properties(value, depth)],
  ['required', (reader, value) => (isEmptyList(value) ? value : reader.list(value, (item) => reader.name(item)))],
  ...['additionalProperties', 'propertyNames', 'items', 'not'].map((keyword): [string, KeywordReader] => [
    keyword,
    (reader, value, depth) => reader.subschema(value, depth),
  ]),
  ...['anyOf', 'oneOf', 'allOf'].map((keyword): [string, KeywordReader] => [
    keyword,
    (reader, value, depth) => reader.list(value, (item) => reader.subschema(item, depth)),
  ]),
  ...['minProperties', 'maxProperties', 'minItems', 'maxItems'].map((keyword): [string, KeywordReader] => [
    keyword,
    (_, value) => demand(isCount(value), value),
  ]),
  ...['minLength', 'maxLength'].map((keyword): [string, KeywordReader] => [
    keyword,
    (reader, value) => {
      reader.measuresText = true;
      return demand(isCount(value), value);
    },
  ]),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((keyword): [string, KeywordReader] => [
    keyword,
    (_, value) => demand(Number.isFinite(value), value),
  ]),
  // An annotation, of which only the presence matters (see `relaxDefaulted`).
  ['default', () => null],
  ['multipleOf', (_, value) => demand(Number.isFinite(value) && Number(value) > 0, value)],
]);

class PlainReader {
  nodes = 0;
  measuresText = false;
  private characters = 0;

  read(schema: object, depth: number): object {
    if (depth > MAX_DEPTH) throw new NotPlain();
    this.count(0);
    const form: Record<string, unknown> = {};
    for (const keyword of Object.keys(schema)) {
      const value: unknown = Reflect.get(schema, keyword);
      const read = READERS.get(keyword);
      if (read !== undefined) form[keyword] = read(this, value, depth);
      else if (keyword === 'format') this.format(form, value);
      else if (NOT_PLAIN.has(keyword) && !(keyword === 'uniqueItems' && value === false)) throw new NotPlain();
    }
    // OpenAPI's keyword for "or null", which many servers use.
    if (Reflect.get(schema, 'nullable') === true && form['type'] !== undefined) form['nullable'] = true;
    return form;
  }

  subschema(value: unknown, depth: number): unknown {
    return typeof value === 'boolean' ? value : this.read(record(value), depth + 1);
  }

  properties(value: unknown, depth: number): object {
    const members = record(value);
    const form: Record<string, unknown> = {};
    for (const name of Object.keys(members)) {
      if (name === '__proto__') throw new NotPlain();
      form[this.name(name)] = this.subschema(members[name], depth);
    }
    return form;
  }

  /** A list of at least one item. */
  list(value: unknown, read: (item: unknown) => unknown): unknown[] {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_NODES) throw new NotPlain();
    return value.map(read);
  }

  scalar(value: unknown): unknown {
    if (typeof value === 'object' && value !== null) throw new NotPlain();
    this.count(typeof value === 'string' ? value.length : 0);
    return value;
  }

  name(value: unknown): string {
    if (typeof value !== 'string') throw new NotPlain();
    this.count(value.length);
    return value;
  }

  format(form: Record<string, unknown>, value: unknown): void {
    if (typeof value !== 'string') throw new NotPlain();
    if (!FORMATS.has(value)) return;
    form['format'] = value;
    this.measuresText = true;
  }

  private count(characters: number): void {
    this.nodes++;
    this.characters += characters;
    if (this.nodes > MAX_NODES || this.characters > MAX_CHARACTERS) throw new NotPlain();
  }
}

function demand<T>(holds: boolean, value: T): T {
  if (!holds) throw new NotPlain();
  return value;
}

function record(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new NotPlain();
  return value;
}

function isTypes(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === 'string' && TYPES.has(value);
  return value.length > 0 && new Set(value).size === value.length && value.every((type) => TYPES.has(type as string));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
