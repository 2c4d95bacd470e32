import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { ValidationTypes } from 'class-validator';
import { targetConstructorToSchema } from 'class-validator-jsonschema';
import type { InputClass } from './validate-input.js';

/** A JSON Schema (2020-12 vocabulary). */
export type JsonSchema = { [key: string]: unknown };

type Options = NonNullable<Parameters<typeof targetConstructorToSchema>[1]>;

const OPTIONS: Options = {
  classTransformerMetadataStorage: defaultMetadataStorage,
  additionalConverters: {
    // The library's own converter refers to a class by its name, and describes every decorated class to resolve that.
    [ValidationTypes.NESTED_VALIDATION]({ target, propertyName }) {
      const type = defaultMetadataStorage
        .findTypeMetadata(target as InputClass, propertyName)
        ?.typeFunction() as unknown;
      if (type === undefined) throw new Error(`${(target as InputClass).name}.${propertyName} needs @Type.`);
      return schemaOf(type as InputClass);
    },
  },
};

/**
 * The JSON Schema of a decorated class, self-contained: nested classes are inlined, and objects are closed because
 * unknown properties are refused.
 */
export function schemaOf(type: InputClass): JsonSchema {
  // A class without a decorated property describes an input without properties.
  return close({ type: 'object', properties: {}, ...(targetConstructorToSchema(type, OPTIONS) as JsonSchema) });
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
