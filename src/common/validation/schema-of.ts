import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { targetConstructorToSchema, validationMetadatasToSchemas } from 'class-validator-jsonschema';
import type { InputClass } from './validate-input.js';

/** A JSON Schema (2020-12 vocabulary). */
export type JsonSchema = { [key: string]: unknown };

const REF_PREFIX = '#/definitions/';

/**
 * The JSON Schema of a decorated class, self-contained: nested classes are inlined, and objects are closed because
 * unknown properties are refused.
 */
export function schemaOf(type: InputClass): JsonSchema {
  const options = { classTransformerMetadataStorage: defaultMetadataStorage, refPointerPrefix: REF_PREFIX };
  const schemas = validationMetadatasToSchemas(options) as Record<string, JsonSchema>;
  const schema = targetConstructorToSchema(type, options) as JsonSchema;
  // A class without a decorated property describes an input without properties.
  return inline({ type: 'object', properties: {}, ...schema }, schemas);
}

function inline(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const { $ref: _, ...siblings } = schema;
    const target = schemas[reference.slice(REF_PREFIX.length)] ?? {};
    return { ...inline(target, schemas), ...siblings };
  }
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, inlineValue(value, schemas)]));
  return copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

function inlineValue(value: unknown, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlineValue(item, schemas));
  if (typeof value === 'object' && value !== null) return inline(value as JsonSchema, schemas);
  return value;
}
