import { isTool } from '../../upstreams/channel/is-tool.js';
import type { UpstreamTool } from '../../upstreams/upstream.js';

/** A JSON-RPC message that may be the answer to `tools/list`. */
interface ListAnswer {
  result?: { tools?: unknown; nextCursor?: unknown; cacheScope?: unknown };
}

/** What a caller may see of a list. */
export interface ToolListFilter {
  /** May the caller call this tool? */
  readonly shows: (tool: UpstreamTool) => boolean;
  /** Told of a list that is complete on this page. */
  readonly onComplete?: (tools: readonly UpstreamTool[]) => void;
}

/**
 * Leaves in the answer to `tools/list` what the caller may call. A list that was filtered for one caller must not be cached
 * for others, whatever the upstream says of it (MCP 2026-07-28, `cacheScope`). Any other message stays as it is.
 * @returns the JSON text; undefined for a text that is no JSON and cannot be judged
 */
export function filterToolList(text: string, filter: ToolListFilter): string | undefined {
  const message = parse(text);
  if (message === undefined) return undefined;
  const { result } = message;
  if (result === undefined || !Array.isArray(result.tools)) return text;
  // What has no schema cannot be called, so it does not belong on the list; nor can such a list be learned from.
  const tools = result.tools.filter(isTool);
  const isComplete = result.nextCursor === undefined && tools.length === result.tools.length;
  if (isComplete) filter.onComplete?.(tools);
  result.tools = tools.filter((tool) => filter.shows(tool));
  if (result.cacheScope !== undefined) result.cacheScope = 'private';
  return JSON.stringify(message);
}

function parse(text: string): ListAnswer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
