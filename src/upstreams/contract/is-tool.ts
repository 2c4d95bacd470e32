import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from './upstream.js';

/** True if this listed item has what every tool must have: a name, and a schema that is an object (MCP, "Tool"). */
export function isTool(value: unknown): value is UpstreamTool {
  return isRecord(value) && typeof value['name'] === 'string' && isRecord(value['inputSchema']);
}
