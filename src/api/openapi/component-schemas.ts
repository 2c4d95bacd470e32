import type { OpenAPIObject } from '@nestjs/swagger';
import { classOfSchema, type JsonSchema, schemaWith } from '../../core/validation/schema-of.js';
import { isPresentOrNull } from '../../core/validation/presence.js';
import type { InputClass } from '../../core/validation/validate-input.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** Marks the place of a reference until a schema is finished; `schemaWith` leaves no `$ref` in place. */
const MARK = 'x-component';
const ROOT = '#/components/schemas/';

/**
 * `components.schemas`: the classes of inputs and outputs under their names, so that generators can name their types.
 */
export class ComponentSchemas {
  private readonly named = new Map<string, JsonSchema>();
  private readonly names = new Map<InputClass, string>();

  /** @param given schemas that no class describes, by name */
  constructor(private readonly given: Readonly<Record<string, JsonSchema>>) {
    for (const [name, schema] of Object.entries(given)) this.named.set(name, schema);
  }

  /** A reference to the schema of a class. */
  refTo(type: InputClass): JsonSchema {
    return { $ref: `${ROOT}${this.nameOf(type)}` };
  }

  /**
   * A reference in the place of a schema of a class, or of one that has a name: one of these, or one with a `title`.
   * Any other schema as it is.
   */
  refOr(schema: JsonSchema): JsonSchema {
    const text = JSON.stringify(schema);
    const same = Object.entries(this.given).find(([, known]) => JSON.stringify(known) === text);
    if (same !== undefined) return { $ref: `${ROOT}${same[0]}` };
    const type = classOfSchema(schema);
    if (type !== undefined) return this.refTo(type);
    const { title } = schema as { title?: unknown };
    if (typeof title !== 'string') return schema;
    this.named.set(title, schema);
    return { $ref: `${ROOT}${title}` };
  }

  /** The schema behind a reference. */
  resolve(schema: JsonSchema): JsonSchema {
    const { $ref: ref } = schema;
    return typeof ref === 'string' ? (this.named.get(ref.slice(ROOT.length)) ?? {}) : schema;
  }

  /** All schemas so far, by name in alphabetical order. */
  all(): Schemas {
    return Object.fromEntries([...this.named].toSorted(([a], [b]) => (a < b ? -1 : 1))) as Schemas;
  }

  private nameOf(type: InputClass): string {
    const known = this.names.get(type);
    if (known !== undefined) return known;
    // Modules name their classes independently of each other.
    let name = type.name;
    for (let n = 2; this.named.has(name); n++) name = `${type.name}${n}`;
    this.names.set(type, name);
    // Holds the name while the classes below it are described.
    this.named.set(name, {});
    const schema = schemaWith(type, (nested) => ({ [MARK]: this.nameOf(nested) }));
    this.named.set(name, forGenerators({ ...schema, ...requiredOf(type, schema) }) as JsonSchema);
    return name;
  }
}

/**
 * The library takes every condition on a property for an optional one; a property that can only be null is always
 * there.
 */
function requiredOf(type: InputClass, schema: JsonSchema): JsonSchema {
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] };
  const present = Object.keys(properties).filter((name) => required.includes(name) || isPresentOrNull(type, name));
  return present.length === 0 ? {} : { required: present };
}

/** Puts the references in, and says of objects without declared properties that they can have any. */
function forGenerators(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forGenerators);
  if (typeof value !== 'object' || value === null) return value;
  const { [MARK]: name, type, ...rest } = value as JsonSchema;
  if (typeof name === 'string') return { $ref: `${ROOT}${name}`, ...rest };
  const members = Object.entries(value).map(([key, member]) => [key, forGenerators(member)]);
  const isFree = type === 'object' && !('properties' in rest) && !('additionalProperties' in rest);
  return Object.fromEntries(isFree ? [...members, ['additionalProperties', true]] : members);
}
