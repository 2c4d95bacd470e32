import { isRecord } from '../../../core/is-record.js';

/** A field name (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The headers that repeat arguments of a tool (MCP 2026-07-28, `x-mcp-header`), with values that are not encoded yet.
 * @param schema of the tool's arguments, unchecked
 */
export function mirroredArguments(schema: unknown, args: unknown): Record<string, string> {
  if (!isRecord(schema) || !isRecord(schema['properties']) || !isRecord(args)) return {};
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema['properties'])) {
    const header = isRecord(property) ? property['x-mcp-header'] : undefined;
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (isRecord(value)) Object.assign(headers, mirroredArguments(property, value));
    else if (typeof header === 'string' && TOKEN.test(header) && isPrimitive(value)) {
      headers[`mcp-param-${header.toLowerCase()}`] = String(value);
    }
  }
  return headers;
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
