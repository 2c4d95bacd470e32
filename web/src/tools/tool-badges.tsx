import type { McpTool } from '../api/mcp.js';
import { Badge } from '../ui/badge.js';

/** What the server says about a tool's effects. These are its own claims: nothing enforces them. */
export function ToolBadges({ annotations = {} }: Pick<McpTool, 'annotations'>) {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {readOnlyHint === true && <Badge tone="success">read-only</Badge>}
      {readOnlyHint !== true && destructiveHint === true && <Badge tone="danger">destructive</Badge>}
      {readOnlyHint !== true && idempotentHint === true && <Badge>repeatable</Badge>}
      {openWorldHint === true && <Badge>reaches outside</Badge>}
    </span>
  );
}
