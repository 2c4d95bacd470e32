import { namesIn, pointerTo } from '../../core/json/json-pointer.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { DressedTool } from '../records/agent.js';
import { isRecord } from '../../core/is-record.js';
import { DomainError, type FieldError } from '../../core/domain-error.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import { memberRange, withMember } from '../../core/json/json-member.js';
import { refusalOf, verdictOn } from '../../upstreams/arguments/argument-verdict.js';

/** The names that lead to an argument: its own, and before it those of the objects that it is in. */
type ArgumentPath = readonly string[];

interface FixedArgument {
  readonly path: ArgumentPath;
  readonly value: unknown;
}

/** The arguments of one dressed tool. */
export interface DressedArguments {
  readonly fixed: readonly FixedArgument[];
  /** What callers neither see nor set: the fixed arguments, and the hidden ones. */
  readonly covered: readonly ArgumentPath[];
}

/** How the agents on the way to a tool have changed it. */
export interface ToolDressing extends DressedArguments {
  /** The tool as the upstream listed it; undefined while it cannot be listed. */
  readonly upstreamDefinition: UpstreamTool | undefined;
  /** Why no call can be made with it, in a sentence. */
  readonly misfit?: string;
}

/** The arguments of a dressed tool, with their paths in names. */
export function argumentsOf({ arguments: { fixed = {}, hidden = [] } = {} }: DressedTool): DressedArguments {
  const values = Object.entries(fixed).map(([pointer, value]) => ({ path: namesIn(pointer), value }));
  return { fixed: values, covered: [...values.map(({ path }) => path), ...hidden.map(namesIn)] };
}

/** The most references that one schema can go through to another. */
const MAX_REFERENCES = 16;

/** The dressing cannot be applied to the schema, in words that follow the name of the tool. */
export class SchemaMisfit extends Error {
  override readonly name = 'SchemaMisfit';

  sentenceFor(toolName: string): string {
    return `The agent's selection does not fit the tool "${toolName}": it ${this.message}.`;
  }
}

type Schema = Readonly<Record<string, unknown>>;

/** The keywords of an object's schema that can name arguments outside of `properties` and `required`. */
const MENTIONING = new Set(
  'allOf anyOf oneOf not if then else dependentRequired dependentSchemas dependencies default examples'.split(' '),
);

/** What a dressing makes of the input schema of a tool. */
export interface DressedSchema {
  /** Without the covered arguments. */
  readonly shown: Schema;
  /** What the schema says of the fixed arguments alone. */
  readonly fixed: Schema;
}

/** The covered arguments of one object, by name. */
interface Cover {
  readonly isFixed: boolean;
  readonly inner: Map<string, Cover>;
}

/**
 * Takes the covered arguments out of an input schema. Each must be among the `properties` of its object, directly or
 * through a `$ref` within the schema. An object all of whose arguments are covered is left out, if calls get it anyway.
 * @throws SchemaMisfit for an argument that the schema does not have, and for a required one without a fixed value
 */
export function dressSchema(root: object, args: DressedArguments): DressedSchema {
  const { shown, fixed } = uncover(root as Schema, coverOf(args), [], root as Schema);
  const { $schema, $defs, definitions } = root as Schema;
  const known = Object.fromEntries(
    Object.entries({ $schema, $defs, definitions }).filter(([, value]) => value !== undefined),
  );
  return { shown, fixed: { ...known, ...fixed } };
}

function coverOf({ fixed, covered }: DressedArguments): Cover {
  const top: Cover = { isFixed: false, inner: new Map() };
  const values = new Set(fixed.map(({ path }) => pointerTo(path)));
  for (const path of covered) {
    let at = top;
    const isFixed = values.has(pointerTo(path));
    for (const [depth, name] of path.entries()) {
      const isLast = depth === path.length - 1;
      const next = at.inner.get(name) ?? { isFixed: isLast && isFixed, inner: new Map<string, Cover>() };
      at.inner.set(name, next);
      at = next;
    }
  }
  return top;
}

function uncover(node: Schema, { inner }: Cover, path: ArgumentPath, root: Schema): DressedSchema {
  const schema = followed(node, root, path);
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
  const kept = new Map(Object.entries(properties));
  const fixed: [string, unknown][] = [];
  for (const [name, cover] of inner) {
    const at = [...path, name];
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) throw new SchemaMisfit(`has no argument ${pointerTo(at)} in its input schema`);
    if (cover.inner.size > 0) {
      const nested = uncover(isRecord(property) ? property : {}, cover, at, root);
      if (!holdsFixed(cover)) {
        kept.set(name, nested.shown);
        continue;
      }
      fixed.push([name, nested.fixed]);
      if (Object.keys(nested.shown['properties'] as object).length === 0) kept.delete(name);
      else kept.set(name, nested.shown);
      // Calls get the object because of its fixed arguments, and then need its other required ones.
      if (isNeeded(nested.shown) && kept.has(name)) required.add(name);
      else required.delete(name);
      continue;
    }
    if (cover.isFixed) fixed.push([name, property]);
    else if (required.has(name) && !(isRecord(property) && Object.hasOwn(property, 'default'))) {
      throw new SchemaMisfit(`requires the hidden argument ${pointerTo(at)}, which has no fixed value`);
    }
    kept.delete(name);
    required.delete(name);
  }
  return {
    shown: {
      ...withoutMentions(
        schema,
        [...inner.keys()].filter((name) => !kept.has(name)),
      ),
      properties: Object.fromEntries(kept),
      ...('required' in schema || required.size > 0 ? { required: [...required] } : {}),
    },
    fixed: { type: 'object', properties: Object.fromEntries(fixed) },
  };
}

/** Without the keywords that name these arguments. Calls are validated against the schema of the upstream anyway. */
function withoutMentions(schema: Schema, names: readonly string[]): Schema {
  if (names.length === 0) return schema;
  const quoted = names.map((name) => JSON.stringify(name));
  const isKept = ([keyword, value]: [string, unknown]): boolean => {
    const text = MENTIONING.has(keyword) ? JSON.stringify(value) : '';
    return !quoted.some((name) => text.includes(name));
  };
  return Object.fromEntries(Object.entries(schema).filter(isKept));
}

function holdsFixed({ isFixed, inner }: Cover): boolean {
  return isFixed || [...inner.values()].some(holdsFixed);
}

function isNeeded({ required }: Schema): boolean {
  return Array.isArray(required) && required.length > 0;
}

/** The schema with what its `$ref` refers to, so that the properties are its own. */
function followed(node: Schema, root: Schema, path: ArgumentPath): Schema {
  let schema = node;
  for (let count = 0; typeof schema['$ref'] === 'string'; count++) {
    const { $ref, ...own } = schema;
    const target = count < MAX_REFERENCES ? find(root, $ref as string) : undefined;
    if (target === undefined) throw new SchemaMisfit(`has a reference at ${pointerTo(path)} that leads nowhere`);
    schema = { ...target, ...own };
  }
  return schema;
}

/** Only references within the schema are followed. */
function find(root: Schema, reference: string): Schema | undefined {
  if (!reference.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const name of namesIn(reference.slice(1))) {
    at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isRecord(at) ? at : undefined;
}

/**
 * Why a dressed tool cannot be called as it is now: its schema has changed since it was dressed, as it can during a
 * run, so that a covered argument may be gone or have another name. Undefined if the dressing fits it.
 * @param tool as the upstream has it; undefined while that is not known
 */
export function refusalOfChange(dressing: ToolDressing, tool: KnownTool | undefined): DomainError | undefined {
  if (tool === undefined || tool.inputSchema === dressing.upstreamDefinition?.inputSchema) return undefined;
  try {
    dressSchema(tool.inputSchema, dressing);
    return undefined;
  } catch (error) {
    if (!(error instanceof SchemaMisfit)) throw error;
    return new DomainError('tool_schema_invalid', error.sentenceFor(tool.name));
  }
}

/**
 * Why a caller cannot send these arguments to a dressed tool: they contain a covered argument, or the dressing does not
 * fit the tool. Undefined if they can be sent once the fixed ones are put in.
 */
export function refusalOfArguments({ covered, misfit }: ToolDressing, args: unknown): DomainError | undefined {
  if (misfit !== undefined) return new DomainError('tool_schema_invalid', misfit);
  const faults = isRecord(args)
    ? covered.flatMap((path) => faultAt(args, path) ?? [])
    : [{ path: '', code: 'type', message: 'must be object' }];
  return refusalOf(verdictOn(faults));
}

/** Servers that match names case-insensitively would take a variant of a covered name for the argument itself. */
function faultAt(args: Record<string, unknown>, path: ArgumentPath): FieldError | undefined {
  let at = args;
  for (const [depth, name] of path.entries()) {
    const isLast = depth === path.length - 1;
    const passed = path.slice(0, depth);
    const refused = Object.keys(at).find((key) => isVariant(key, name) && (isLast || key !== name));
    if (refused !== undefined) {
      return { path: [...passed, refused].join('.'), code: 'additional_properties', message: 'is not accepted' };
    }
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    if (next === undefined) return undefined;
    if (!isRecord(next)) return { path: [...passed, name].join('.'), code: 'type', message: 'must be object' };
    at = next;
  }
  return undefined;
}

function isVariant(key: string, name: string): boolean {
  return key === name || folded(key) === folded(name);
}

/** Both cases: `ſ` maps to `S` only in upper case, the Kelvin sign to `k` only in lower case. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}

/** The arguments with the fixed ones put in. @param args not refused by `refusalOfArguments` */
export function fillArguments({ fixed }: DressedArguments, args: Record<string, unknown>): Record<string, unknown> {
  return fixed.reduce((filled, { path, value }) => withValue(filled, path, value), args);
}

function withValue(
  target: Record<string, unknown>,
  [name = '', ...rest]: ArgumentPath,
  value: unknown,
): Record<string, unknown> {
  const inner = Object.hasOwn(target, name) ? target[name] : undefined;
  return { ...target, [name]: rest.length === 0 ? value : withValue(isRecord(inner) ? inner : {}, rest, value) };
}

/**
 * The JSON text of a `tools/call` request with the fixed arguments put in. All other text stays as it is, including
 * numbers beyond double precision.
 * @param request of which no object has a key twice, and whose arguments are not refused by `refusalOfArguments`
 */
export function fillRequestText({ fixed }: DressedArguments, request: string): string {
  return fixed.reduce(
    (text, { path, value }) => withValueText(text, 0, ['params', 'arguments', ...path], JSON.stringify(value)),
    request,
  );
}

/** @param start the index of the object's brace */
function withValueText(text: string, start: number, [name = '', ...rest]: ArgumentPath, value: string): string {
  if (rest.length === 0) return withMember(text, start, name, value);
  const range = memberRange(text, start, name);
  if (range !== undefined && text[range.start] === '{') return withValueText(text, range.start, rest, value);
  const nested = rest.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, value);
  return withMember(text, start, name, nested);
}
