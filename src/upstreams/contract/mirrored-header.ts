import { isRecord } from '../../core/is-record.js';

/** A field name (RFC 9110, section 5.1): it comes from the upstream. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The header that repeats an argument (MCP 2026-07-28, `x-mcp-header`), in lower case.
 * @param property the argument's schema, unchecked
 */
export function headerNameOf(property: unknown): string | undefined {
  const header = isRecord(property) ? property['x-mcp-header'] : undefined;
  return typeof header === 'string' && TOKEN.test(header) ? `mcp-param-${header.toLowerCase()}` : undefined;
}

/** The value of that header, not encoded yet; null for a value that is not repeated. */
export function headerValueOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value) ? String(value) : null;
}
