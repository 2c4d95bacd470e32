import type { UpstreamTool } from './upstream.js';

/** Has this, as an upstream lists it, what every tool must have: a name, and a schema that is an object (MCP, "Tool")? */
export function isTool(value: unknown): value is UpstreamTool {
  if (typeof value !== 'object' || value === null) return false;
  const { name, inputSchema } = value as { name?: unknown; inputSchema?: unknown };
  const hasSchema = typeof inputSchema === 'object' && inputSchema !== null && !Array.isArray(inputSchema);
  return typeof name === 'string' && hasSchema;
}
