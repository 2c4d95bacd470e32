import { isRecord } from '../../../core/is-record.js';
import { isTool } from '../../../upstreams/contract/is-tool.js';
import type { CallerFilter } from '../../protocol/proxy-caller.js';

const TOOLS = 'tools';

/**
 * Removes the tools that the connection does not offer or the caller is not permitted to call, if the message is an answer to `tools/list`. A list that
 * was filtered for one caller must not be cached for others, whatever `cacheScope` the upstream declares (MCP
 * 2026-07-28).
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
  const offered = filter.offer?.(tools) ?? tools;
  result[TOOLS] = offered.filter((tool) => filter.shows(tool));
  if (result['cacheScope'] !== undefined) result['cacheScope'] = 'private';
}
