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
const MAPS: ReadonlySet<string> = new Set([...PART_MAPS, 'dependentSchemas', 'dependencies']);
/** Keywords whose values are data. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);
/** Keywords that accept less when their subschemas accept more. */
const NEGATIVE = ['not', 'if', 'contains'] as const;
const UNEVALUATED = ['unevaluatedItems', 'unevaluatedProperties'] as const;
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const;

/**
 * Changes a schema so that a property with a `default` is not required: the server fills it in. Generators that
 * describe the result of parsing list such properties as required (zod's `io: 'output'` does). The changed schema
 * accepts whatever the original accepts: `not`, `if` and `contains` stay as they are, and those that refer to what may
 * have changed are left out.
 * @param root parsed JSON, which is changed in place
 */
export function relaxDefaulted(root: unknown): void {
  if (!new Relaxation(root).relax(root)) return;
  const schemas = schemasIn(root);
  const refer = (part: unknown): boolean => schemasIn(part).some((schema) => REFERENCES.some((key) => key in schema));
  const left = schemas.flatMap((schema) =>
    NEGATIVE.filter((key) => refer(schema[key])).map((key) => ({ schema, key })),
  );
  for (const { schema, key } of left) delete schema[key];
  // What `if` and `contains` accepted has counted as evaluated.
  if (left.length > 0) for (const schema of schemas) for (const key of UNEVALUATED) delete schema[key];
}

class Relaxation {
  /** For each schema that was relaxed, true if anything has changed in it, or in what it refers to. */
  private readonly changes = new Map<Schema, boolean>();
  private readonly names = new Map<Schema, ReadonlySet<string>>();
  private readonly defaulted = new Map<Schema, boolean>();
  private readonly root: unknown;
  private knownSchemas: readonly Schema[] | undefined;

  // No parameter property, which Node cannot strip.
  constructor(root: unknown) {
    this.root = root;
  }

  /**
   * @param inherited the properties with a default of the schemas around this one that describe the same value
   * @returns true if anything has changed
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
      ...[...partsOf(value), ...this.targetsOf(value)].map((schema) => this.relax(schema)),
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
    const branches = BRANCHES.flatMap((keyword) => listOf(schema[keyword]).filter(isSchema));
    return [...branches, ...this.targetsOf(schema)];
  }

  /**
   * What the references of a schema can mean. Where that depends on more than the schema, all of it: that only accepts
   * more.
   */
  private targetsOf(schema: Schema): Schema[] {
    const references = REFERENCES.map((keyword) => schema[keyword]).filter((ref) => typeof ref === 'string');
    return references.flatMap((reference) => {
      const [base = '', fragment = ''] = reference.split('#');
      if (fragment !== '' && !fragment.startsWith('/')) return this.schemas.filter((named) => isNamed(named, fragment));
      const resources = this.schemas.filter((resource) => resource === this.root || isResource(resource, base));
      return resources.map((resource) => memberAt(resource, fragment)).filter(isSchema);
    });
  }

  private get schemas(): readonly Schema[] {
    return (this.knownSchemas ??= schemasIn(this.root));
  }
}

/** All schemas within a part of a schema, outer ones first. */
function schemasIn(part: unknown, isMap = false): Schema[] {
  if (Array.isArray(part)) return part.flatMap((item) => schemasIn(item));
  if (!isSchema(part)) return [];
  const members = Object.entries(part).filter(([name]) => isMap || !DATA.has(name));
  const inner = members.flatMap(([name, member]) => schemasIn(member, !isMap && MAPS.has(name)));
  return isMap ? inner : [part, ...inner];
}

function isNamed({ $anchor, $dynamicAnchor, $id }: Schema, anchor: string): boolean {
  return $anchor === anchor || $dynamicAnchor === anchor || $id === `#${anchor}`;
}

/** True if the schema can be what this address means. Either address can be relative to one that surrounds it. */
function isResource({ $id: id }: Schema, address: string): boolean {
  return typeof id === 'string' && (id.endsWith(address) || address.endsWith(id));
}

function memberAt(schema: Schema, pointer: string): unknown {
  let target: unknown = schema;
  for (const step of pointer.split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = (target as Schema)[name];
  }
  return target;
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
