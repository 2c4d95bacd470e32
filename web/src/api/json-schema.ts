/** A JSON Schema, as far as the console reads it: what it does not know is left to the service, which validates. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly additionalProperties?: unknown;
}

/** How a value is entered. `json`: as text, because no simpler control fits. */
type SchemaKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'object' | 'array' | 'json';

const MAX_REFERENCES = 8;

/**
 * Follows `$ref` within the document, and takes null out of a choice of one schema or null.
 * @param root the document that `$ref` refers to
 */
export function resolveSchema(schema: JsonSchema | undefined, root: JsonSchema): JsonSchema {
  let current = schema ?? {};
  for (let count = 0; count < MAX_REFERENCES; count++) {
    const next = stepOf(current, root);
    if (next === undefined) return current;
    const { title, description, default: initial } = current;
    current = {
      ...next,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(initial !== undefined && { default: initial }),
    };
  }
  return {};
}

function stepOf(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  if (typeof schema.$ref === 'string') return referredBy(schema.$ref, root);
  const options = (schema.anyOf ?? schema.oneOf)?.filter((option) => option.type !== 'null');
  return schema.type === undefined && options?.length === 1 ? options[0] : undefined;
}

function referredBy(reference: string, root: JsonSchema): JsonSchema {
  if (!reference.startsWith('#')) return {};
  let place: unknown = root;
  for (const name of reference.slice(1).split('/').filter(Boolean)) {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return {};
    place = (place as Record<string, unknown>)[key];
  }
  return typeof place === 'object' && place !== null ? place : {};
}

/** @param schema a resolved schema */
export function kindOf(schema: JsonSchema): SchemaKind {
  if (schema.enum !== undefined && schema.enum.length > 0) return 'choice';
  switch (typeOf(schema)) {
    case 'string':
      return 'text';
    case 'number':
      return 'number';
    case 'integer':
      return 'integer';
    case 'boolean':
      return 'boolean';
    case 'object':
      return schema.properties !== undefined && schema.anyOf === undefined && schema.oneOf === undefined
        ? 'object'
        : 'json';
    case 'array':
      return schema.items !== undefined && !Array.isArray(schema.items) ? 'array' : 'json';
    default:
      return 'json';
  }
}

/** The only type that a value can have besides null; undefined for several. */
function typeOf({ type, properties }: JsonSchema): string | undefined {
  if (typeof type === 'string') return type;
  if (type === undefined) return properties === undefined ? undefined : 'object';
  const others = type.filter((name) => name !== 'null');
  return others.length === 1 ? others[0] : undefined;
}

/** Schemas can refer to themselves. */
const MAX_DEPTH = 4;

/** The type in words, such as `text`, `list of whole numbers` or `one of "a", "b"`. @param schema a resolved schema */
export function describeType(schema: JsonSchema, root: JsonSchema, depth = 0): string {
  const kind = kindOf(schema);
  if (kind === 'choice') return `one of ${schema.enum?.map((value) => JSON.stringify(value)).join(', ')}`;
  if (kind === 'array') {
    return depth < MAX_DEPTH ? `list: ${describeType(resolveSchema(schema.items, root), root, depth + 1)}` : 'list';
  }
  if (kind === 'text') return schema.format ? `text (${schema.format})` : 'text';
  if (kind === 'json') return describeOther(schema, root, depth);
  return { number: 'number', integer: 'whole number', boolean: 'yes or no', object: 'object' }[kind];
}

function describeOther(schema: JsonSchema, root: JsonSchema, depth: number): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (options !== undefined && options.length > 0) {
    if (depth >= MAX_DEPTH) return 'one of several types';
    return options.map((option) => describeType(resolveSchema(option, root), root, depth + 1)).join(' or ');
  }
  if (typeof schema.type === 'string') return schema.type === 'array' ? 'list' : schema.type;
  return schema.type === undefined ? 'any value' : schema.type.join(' or ');
}
