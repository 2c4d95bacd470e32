// Imports nothing, because the worker thread loads this file directly, in `dist` and under Jest.

type Schema = Record<string, unknown>;

const NONE: ReadonlySet<string> = new Set();

/** Keywords whose subschemas describe the same value as the schema itself. */
const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const;
/** Keywords whose subschemas describe parts of the value. */
const PARTS = [
  'items',
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
] as const;
const PART_LISTS = ['items', 'prefixItems'] as const;
const PART_MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const;

/**
 * Changes a schema so that a property with a `default` is not required: the server fills it in. Generators that describe the
 * result of parsing list such properties as required (zod's `io: 'output'` does). The changed schema accepts whatever the original
 * accepts; `not` and `if` stay as they are, because accepting more there would mean accepting less.
 * @param root parsed JSON, which is changed in place
 */
export function relaxDefaulted(root: unknown): void {
  new Relaxation(root).relax(root);
}

class Relaxation {
  /** By the schemas that were relaxed: has anything changed in them, or in what they refer to? */
  private readonly changes = new Map<Schema, boolean>();
  private readonly names = new Map<Schema, ReadonlySet<string>>();
  private readonly defaulted = new Map<Schema, boolean>();

  private readonly root: unknown;

  // No parameter property, which Node cannot strip.
  constructor(root: unknown) {
    this.root = root;
  }

  /**
   * @param inherited the properties with a default of the schemas around this one that describe the same value
   * @returns has anything changed?
   */
  relax(value: unknown, inherited: ReadonlySet<string> = NONE): boolean {
    if (!isSchema(value)) return false;
    const known = this.changes.get(value);
    if (known !== undefined) return known;
    // Ends a circle of references.
    this.changes.set(value, false);
    const own = this.namesOf(value);
    const names = inherited.size === 0 ? own : new Set([...own, ...inherited]);
    const { dependentRequired } = value;
    const lists = isSchema(dependentRequired)
      ? Object.keys(dependentRequired).map((name) => [dependentRequired, name] as const)
      : [];
    const changes = [
      ...[[value, 'required'] as const, ...lists].map(([holder, name]) => dropNames(holder, name, names)),
      ...inPlace(value).map((schema) => this.relax(schema, names)),
      ...[...partsOf(value), this.targetOf(value)].map((schema) => this.relax(schema)),
      this.relaxAlternatives(value, names),
    ];
    const isChanged = changes.includes(true);
    this.changes.set(value, isChanged);
    return isChanged;
  }

  /** Alternatives that accept more may overlap, so that one of them has to fit, no longer exactly one. */
  private relaxAlternatives(schema: Schema, names: ReadonlySet<string>): boolean {
    const alternatives = listOf(schema['oneOf']);
    const isChanged = alternatives.map((branch) => this.relax(branch, names)).includes(true);
    if (!isChanged) return false;
    delete schema['oneOf'];
    schema['allOf'] = [...listOf(schema['allOf']), { anyOf: alternatives }];
    return true;
  }

  /** The properties with a default in this schema and in those that it is composed of. */
  private namesOf(schema: Schema): ReadonlySet<string> {
    const known = this.names.get(schema);
    if (known !== undefined) return known;
    const names = new Set<string>();
    // Ends a circle of references.
    this.names.set(schema, names);
    const { properties } = schema;
    if (isSchema(properties)) {
      for (const [name, property] of Object.entries(properties)) if (this.hasDefault(property)) names.add(name);
    }
    for (const part of this.composedOf(schema)) for (const name of this.namesOf(part)) names.add(name);
    return names;
  }

  private hasDefault(schema: unknown): boolean {
    if (!isSchema(schema)) return false;
    if (Object.hasOwn(schema, 'default')) return true;
    const known = this.defaulted.get(schema);
    if (known !== undefined) return known;
    this.defaulted.set(schema, false);
    const found = this.composedOf(schema).some((part) => this.hasDefault(part));
    this.defaulted.set(schema, found);
    return found;
  }

  private composedOf(schema: Schema): Schema[] {
    const target = this.targetOf(schema);
    const branches = BRANCHES.flatMap((keyword) => listOf(schema[keyword]).filter(isSchema));
    return target === undefined ? branches : [...branches, target];
  }

  /** What a `$ref` within the schema refers to. */
  private targetOf({ $ref: ref }: Schema): Schema | undefined {
    if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) return undefined;
    let target: unknown = this.root;
    for (const step of ref.split('/').slice(1)) {
      const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
      target = (target as Schema)[name];
    }
    return isSchema(target) ? target : undefined;
  }
}

function dropNames(schema: Schema, keyword: string, names: ReadonlySet<string>): boolean {
  const listed = schema[keyword];
  if (!Array.isArray(listed) || names.size === 0) return false;
  const kept = listed.filter((name) => !names.has(name as string));
  if (kept.length === listed.length) return false;
  if (kept.length === 0) delete schema[keyword];
  else schema[keyword] = kept;
  return true;
}

/** The subschemas that describe the same value; alternatives are treated apart. */
function inPlace(schema: Schema): unknown[] {
  const { allOf, anyOf, then, else: otherwise, dependentSchemas } = schema;
  return [...listOf(allOf), ...listOf(anyOf), then, otherwise, ...membersOf(dependentSchemas)];
}

function partsOf(schema: Schema): unknown[] {
  return [
    ...PARTS.map((keyword) => schema[keyword]),
    ...PART_LISTS.flatMap((keyword) => listOf(schema[keyword])),
    ...PART_MAPS.flatMap((keyword) => membersOf(schema[keyword])),
  ];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function membersOf(value: unknown): readonly unknown[] {
  return isSchema(value) ? Object.values(value) : [];
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
