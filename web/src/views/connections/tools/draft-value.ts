import { type JsonSchema, kindOf, resolveSchema } from '../../../api/json-schema.js';

/**
 * What the controls of a form hold for a value: the text of a text, number, choice (as JSON) or JSON control, a
 * checkbox, the items of a list, or the members of an object. Undefined: nothing was entered.
 */
export type Draft = string | boolean | readonly Draft[] | { readonly [name: string]: Draft } | undefined;

/** What is wrong with a form, by the path of the control. */
export type DraftErrors = Map<string, string>;

/** Deeper members are entered as JSON. */
const MAX_FORM_DEPTH = 4;

/** The control for a value; the deepest level has text instead of nested controls. @param schema a resolved schema */
export function controlOf(schema: JsonSchema, depth: number): ReturnType<typeof kindOf> {
  const kind = kindOf(schema);
  return depth >= MAX_FORM_DEPTH && (kind === 'object' || kind === 'array') ? 'json' : kind;
}

/** The path of a member or an item in a form, such as `filter.names.0`. */
export function pathTo(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`;
}

/** What a form begins with: the defaults of the schema, or an earlier value. */
export function draftOf(schema: JsonSchema, root: JsonSchema, value: unknown = schema.default, depth = 0): Draft {
  switch (controlOf(schema, depth)) {
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'choice':
      return value === undefined ? undefined : JSON.stringify(value);
    case 'object':
      return membersOf(schema, root, value, depth);
    case 'array':
      return Array.isArray(value)
        ? value.map((item) => draftOf(resolveSchema(schema.items, root), root, item, depth + 1))
        : [];
    case 'json':
      return value === undefined ? undefined : JSON.stringify(value, null, 2);
    default:
      return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  }
}

function membersOf(schema: JsonSchema, root: JsonSchema, value: unknown, depth: number): Draft {
  const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => {
      const resolved = resolveSchema(property, root);
      return [name, draftOf(resolved, root, given[name] ?? resolved.default, depth + 1)];
    }),
  );
}

/**
 * The value that a form describes. What is optional and empty is left out.
 * @param errors gets what is wrong
 */
function valueOf(
  schema: JsonSchema,
  root: JsonSchema,
  draft: Draft,
  errors: DraftErrors,
  { path = '', isRequired = true, depth = 0 } = {},
): unknown {
  switch (controlOf(schema, depth)) {
    case 'boolean':
      return draft ?? (isRequired ? false : undefined);
    case 'object':
      return objectOf(schema, root, draft, errors, { path, isRequired, depth });
    case 'array': {
      const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
      if (items.length === 0) return isRequired ? [] : undefined;
      const item = resolveSchema(schema.items, root);
      return items.map((each, index) =>
        valueOf(item, root, each, errors, { path: pathTo(path, index), isRequired: true, depth: depth + 1 }),
      );
    }
    default:
      return entered(controlOf(schema, depth), draft, errors, path, isRequired);
  }
}

/** The arguments of a tool that a form describes. They are an object also where the schema names no properties. */
export function argumentsOf(schema: JsonSchema, draft: Draft, errors: DraftErrors): unknown {
  return objectOf(schema, schema, draft, errors, { path: '', isRequired: true, depth: 0 });
}

interface Place {
  readonly path: string;
  readonly isRequired: boolean;
  readonly depth: number;
}

function objectOf(
  schema: JsonSchema,
  root: JsonSchema,
  draft: Draft,
  errors: DraftErrors,
  { path, isRequired, depth }: Place,
): Record<string, unknown> | undefined {
  const members = typeof draft === 'object' && !Array.isArray(draft) ? (draft as Record<string, Draft>) : {};
  const isEmpty = Object.values(members).every(isBlank);
  // Nothing of an optional object was entered, so what it requires is not missing.
  if (isEmpty && !isRequired) return undefined;
  const required = new Set(schema.required);
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const value = valueOf(resolveSchema(property, root), root, members[name], errors, {
      path: pathTo(path, name),
      isRequired: required.has(name),
      depth: depth + 1,
    });
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}

function entered(kind: string, draft: Draft, errors: DraftErrors, path: string, isRequired: boolean): unknown {
  const text = typeof draft === 'string' ? draft : '';
  if (text.trim() === '') {
    if (isRequired) errors.set(path, 'A value is required.');
    return undefined;
  }
  if (kind === 'text') return text;
  if (kind === 'number' || kind === 'integer') return numberOf(text, kind === 'integer', errors, path);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    errors.set(path, `This is not JSON: ${(error as Error).message}`);
    return undefined;
  }
}

function numberOf(text: string, isInteger: boolean, errors: DraftErrors, path: string): number | undefined {
  const value = Number(text);
  if (Number.isFinite(value) && (!isInteger || Number.isInteger(value))) return value;
  errors.set(path, isInteger ? 'Enter a whole number.' : 'Enter a number.');
  return undefined;
}

function isBlank(draft: Draft): boolean {
  if (draft === undefined || draft === '') return true;
  return typeof draft === 'object' && Object.values(draft).every(isBlank);
}
