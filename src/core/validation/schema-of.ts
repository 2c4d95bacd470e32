import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { MAX, MIN, ValidationTypes } from 'class-validator';
import { targetConstructorToSchema } from 'class-validator-jsonschema';
import type { InputClass } from './validate-input.js';

/** A JSON Schema (2020-12 vocabulary). */
export type JsonSchema = { [key: string]: unknown };

type Options = NonNullable<Parameters<typeof targetConstructorToSchema>[1]>;

const schemas = new Map<InputClass, JsonSchema>();
/** Classes by their schema as JSON text, see `classOfSchema`. */
const described = new Map<string, InputClass>();

/**
 * The JSON Schema of a decorated class, self-contained: nested classes are inlined, and objects are closed because
 * unknown properties are refused. Callers share it, and must not change it.
 */
export function schemaOf(type: InputClass): JsonSchema {
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const schema = schemaWith(type, schemaOf);
  schemas.set(type, schema);
  const text = JSON.stringify(schema);
  const other = described.get(text);
  // Which of equal ones is asked for first differs from process to process.
  if (other === undefined || type.name < other.name) described.set(text, type);
  return schema;
}

/**
 * The class that `schemaOf` described by this schema; of several equal ones the first by name. For the reference, which
 * names schemas.
 */
export function classOfSchema(schema: unknown): InputClass | undefined {
  return described.get(JSON.stringify(schema));
}

/** The same as `schemaOf`, with what `nested` returns in the place of nested classes. */
export function schemaWith(type: InputClass, nested: (type: InputClass) => JsonSchema): JsonSchema {
  const options: Options = {
    classTransformerMetadataStorage: defaultMetadataStorage,
    additionalConverters: {
      // The library's own ones make a number of an integer.
      [MIN]: ({ constraints }) => ({ minimum: constraints[0] as number }),
      [MAX]: ({ constraints }) => ({ maximum: constraints[0] as number }),
      // The library's own converter refers to a class by its name, and describes every decorated class to resolve that.
      [ValidationTypes.NESTED_VALIDATION]({ target, propertyName }) {
        const type = defaultMetadataStorage
          .findTypeMetadata(target as InputClass, propertyName)
          ?.typeFunction() as unknown;
        if (type === undefined) throw new Error(`${(target as InputClass).name}.${propertyName} needs @Type.`);
        return nested(type as InputClass);
      },
    },
  };
  // A class without a decorated property describes an input without properties.
  return close({ type: 'object', properties: {}, ...(targetConstructorToSchema(type, options) as JsonSchema) });
}

function close(schema: JsonSchema): JsonSchema {
  const copy: JsonSchema = {};
  for (const [key, value] of Object.entries(schema)) {
    // The library refers to the class of a property with `@Allow`, which lets every value pass.
    if (key !== '$ref') copy[key] = closeValue(value);
  }
  return copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

function closeValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeValue);
  return typeof value === 'object' && value !== null ? close(value as JsonSchema) : value;
}
