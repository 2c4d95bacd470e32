import type { Tool } from '@modelcontextprotocol/client';
import { ParseCost } from '../../core/json/parse-cost.js';
import { UpstreamMisbehaviour } from './upstream-error.js';

/** One page of a `tools/list` result. */
export interface ToolPage {
  tools: readonly Tool[];
  nextCursor?: string;
}

/** Of a connection. */
export const MAX_TOOLS = 10_000;
const MAX_PAGES = 1_000;

/**
 * Follows `nextCursor` to the last page. If a tool is listed twice, the first one counts. Rejects with
 * `UpstreamMisbehaviour` if the cursors are circular or the list is too long.
 */
export async function collectTools(fetchPage: (cursor: string | undefined) => Promise<ToolPage>): Promise<Tool[]> {
  const tools = new Map<string, Tool>();
  const cursors = new Set<string>();
  const cost = new ParseCost();
  let cursor: string | undefined;
  do {
    const page = await fetchPage(cursor);
    // The list is stored as a whole, and parsed again when it is read from the database. The cursors are kept too.
    cost.add(Buffer.from(JSON.stringify([page.tools, page.nextCursor])));
    if (cost.isTooHigh)
      throw new UpstreamMisbehaviour('lists its tools with more text or values than the service accepts');
    for (const tool of page.tools) {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
    }
    if (tools.size > MAX_TOOLS) throw new UpstreamMisbehaviour(`lists more than ${MAX_TOOLS} tools`);

    cursor = page.nextCursor;
    if (cursor !== undefined && cursors.has(cursor))
      throw new UpstreamMisbehaviour('repeats a page of its list of tools');
    if (cursor !== undefined) cursors.add(cursor);
    if (cursors.size > MAX_PAGES) throw new UpstreamMisbehaviour(`lists its tools on more than ${MAX_PAGES} pages`);
  } while (cursor !== undefined);
  return [...tools.values()];
}
