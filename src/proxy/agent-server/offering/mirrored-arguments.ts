import { isRecord } from '../../../core/is-record.js';
import { headerNameOf, headerValueOf } from '../../../upstreams/contract/mirrored-header.js';

/**
 * The headers that repeat arguments of a tool (MCP 2026-07-28, `x-mcp-header`), with values that are not encoded yet.
 * @param schema of the tool's arguments, unchecked
 */
export function mirroredArguments(schema: unknown, args: unknown): Record<string, string> {
  if (!isRecord(schema) || !isRecord(schema['properties']) || !isRecord(args)) return {};
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema['properties'])) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (isRecord(value)) Object.assign(headers, mirroredArguments(property, value));
    const header = headerNameOf(property);
    const text = headerValueOf(value);
    if (header !== undefined && text !== null) headers[header] = text;
  }
  return headers;
}
