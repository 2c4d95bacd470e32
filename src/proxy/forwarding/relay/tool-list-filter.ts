import { isRecord } from '../../../core/is-record.js';
import { isTool, type UpstreamTool } from '../../../upstreams/contract/upstream.js';
import type { CallerFilter } from '../../protocol/proxy-caller.js';

const TOOLS = 'tools';

/**
 * Removes the tools that the connection does not offer or the caller is not permitted to call, if the message is an
 * answer to `tools/list`. A list that was filtered for one caller must not be cached for others, whatever `cacheScope`
 * the upstream declares (MCP 2026-07-28).
 * @param message is modified
 */
export function filterToolList({ result }: Record<string, unknown>, filter: CallerFilter): void {
  if (!isRecord(result)) return;
  for (const key of Object.keys(result)) {
    // Some parsers match keys case-insensitively.
    if (key !== TOOLS && key.toUpperCase().toLowerCase() === TOOLS) delete result[key];
  }
  if (!Object.hasOwn(result, TOOLS)) return;
  const tools = Array.isArray(result[TOOLS]) ? readTools(result[TOOLS], result, filter) : [];
  const offered = filter.offer?.(tools) ?? tools;
  result[TOOLS] = offered.filter((tool) => filter.shows(tool));
  if (result['cacheScope'] !== undefined) result['cacheScope'] = 'private';
}

/**
 * True if the filter takes nothing from the message, so that it passes as it was sent. Only for a caller who is
 * permitted to see everything.
 */
export function passesWhole({ result }: Readonly<Record<string, unknown>>, filter: CallerFilter): boolean {
  if (filter.holdsAll !== true) return false;
  if (!isRecord(result) || !Array.isArray(result[TOOLS])) return true;
  const listed: readonly unknown[] = result[TOOLS];
  if (!listed.every((tool) => !isRecord(tool) || filter.shows(tool as UpstreamTool))) return false;
  readTools(listed, result, filter);
  return true;
}

/** The tools of a list that can be called; reports a list that is complete on this page. */
function readTools(
  listed: readonly unknown[],
  { nextCursor }: Readonly<Record<string, unknown>>,
  { onComplete }: CallerFilter,
): UpstreamTool[] {
  // A tool without a schema cannot be called, so it is not listed, and the catalog does not store such a list.
  const tools = listed.filter(isTool);
  if (nextCursor === undefined && tools.length === listed.length) onComplete?.(tools);
  return tools;
}
