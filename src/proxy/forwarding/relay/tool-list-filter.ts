import { isRecord } from '../../../core/is-record.js';
import { isTool } from '../../../upstreams/contract/is-tool.js';
import type { UpstreamTool } from '../../../upstreams/contract/upstream.js';

/** What a caller is permitted to see of an upstream's messages. */
export interface CallerFilter {
  /** Is the caller permitted to call this tool? */
  readonly shows: (tool: UpstreamTool) => boolean;
  /** Called with a list that is complete on this page. */
  readonly onComplete?: (tools: readonly UpstreamTool[]) => void;
  /** Is the task one of the caller's? */
  readonly ownsTask: (taskId: string) => boolean;
}

const TOOLS = 'tools';

/**
 * Removes the tools that the caller is not permitted to call, if the message is an answer to `tools/list`. A list that was
 * filtered for one caller must not be cached for others, whatever `cacheScope` the upstream declares (MCP 2026-07-28).
 * @param message is modified
 */
export function filterToolList({ result }: Record<string, unknown>, filter: CallerFilter): void {
  if (!isRecord(result)) return;
  for (const key of Object.keys(result)) {
    // Some parsers match keys case-insensitively.
    if (key !== TOOLS && key.toUpperCase().toLowerCase() === TOOLS) delete result[key];
  }
  if (!Object.hasOwn(result, TOOLS)) return;
  const listed: readonly unknown[] = Array.isArray(result[TOOLS]) ? result[TOOLS] : [];
  // A tool without a schema cannot be called, so it is not listed, and the catalog does not store such a list.
  const tools = listed.filter(isTool);
  const isComplete = result['nextCursor'] === undefined && tools.length === listed.length;
  if (isComplete && Array.isArray(result[TOOLS])) filter.onComplete?.(tools);
  result[TOOLS] = tools.filter((tool) => filter.shows(tool));
  if (result['cacheScope'] !== undefined) result['cacheScope'] = 'private';
}
