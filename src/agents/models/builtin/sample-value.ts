import { isRecord } from '../../../core/is-record.js';

const MAX_DEPTH = 20;

/**
 * A value that fits a JSON Schema of types, properties, items, constants and choices. One with other rules can refuse it.
 * @param text the value of texts
 */
export function sampleOf(schema: unknown, text: string, depth = 0): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH) return null;
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const { type } = schema;
  switch (Array.isArray(type) ? (type[0] as unknown) : type) {
    case 'object': {
      const { properties } = schema;
      const named = isRecord(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(named.map(([name, inner]) => [name, sampleOf(inner, text, depth + 1)]));
    }
    case 'array':
      return 'minItems' in schema ? [sampleOf(schema['items'], text, depth + 1)] : [];
    case 'number':
    case 'integer':
      return Number(schema['minimum'] ?? 0);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return text;
  }
}
