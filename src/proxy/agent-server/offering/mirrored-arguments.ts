import { isRecord } from '../../../core/is-record.js';
import { ARGUMENT_HEADER } from '../../protocol/inbound-message.js';

/** A field name (RFC 9110, section 5.1): it comes from the upstream. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The headers that repeat arguments of a tool (MCP 2026-07-28, `x-mcp-header`), in lower case, with values that are not
 * encoded yet.
 * @param schema of the tool's arguments, unchecked
 */
export function mirroredArguments(schema: unknown, args: unknown): Record<string, string> {
  if (!isRecord(schema) || !isRecord(schema['properties']) || !isRecord(args)) return {};
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema['properties'])) {
    const header = isRecord(property) ? property['x-mcp-header'] : undefined;
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (isRecord(value)) Object.assign(headers, mirroredArguments(property, value));
    else if (typeof header === 'string' && TOKEN.test(header) && isRepeated(value)) {
      headers[ARGUMENT_HEADER + header.toLowerCase()] = String(value);
    }
  }
  return headers;
}

function isRepeated(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
}
