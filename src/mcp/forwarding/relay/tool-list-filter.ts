import { isRecord } from '../../../common/is-record.js';
import { isTool } from '../../../upstreams/contract/is-tool.js';
import type { UpstreamTool } from '../../../upstreams/contract/upstream.js';

/** What a caller may see of what an upstream sends. */
export interface CallerFilter {
  /** May the caller call this tool? */
  readonly shows: (tool: UpstreamTool) => boolean;
  /** Told of a list that is complete on this page. */
  readonly onComplete?: (tools: readonly UpstreamTool[]) => void;
  /** Is the task one of the caller's? */
  readonly ownsTask: (taskId: string) => boolean;
}

const TOOLS = 'tools';

/**
 * Leaves in a message that may be the answer to `tools/list` what the caller may call. A list that was filtered for one caller
 * must not be cached for others, whatever the upstream says of it (MCP 2026-07-28, `cacheScope`).
 * @param message is changed
 */
export function filterToolList({ result }: Record<string, unknown>, filter: CallerFilter): void {
  if (!isRecord(result)) return;
  for (const key of Object.keys(result)) {
    // Some parsers take keys of any case.
    if (key !== TOOLS && key.toUpperCase().toLowerCase() === TOOLS) delete result[key];
  }
  if (!Object.hasOwn(result, TOOLS)) return;
  const listed: readonly unknown[] = Array.isArray(result[TOOLS]) ? result[TOOLS] : [];
  // What has no schema cannot be called, so it does not belong on the list; nor can such a list be learned from.
  const tools = listed.filter(isTool);
  const isComplete = result['nextCursor'] === undefined && tools.length === listed.length;
  if (isComplete && Array.isArray(result[TOOLS])) filter.onComplete?.(tools);
  result[TOOLS] = tools.filter((tool) => filter.shows(tool));
  if (result['cacheScope'] !== undefined) result['cacheScope'] = 'private';
}
