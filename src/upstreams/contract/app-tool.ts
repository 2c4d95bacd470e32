import { isPage } from '../../connections/last-known-tool.js';
import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from './upstream.js';

type Described = Pick<UpstreamTool, '_meta'>;

/** The older place of a page's address in `_meta`. */
const FLAT_KEY = 'ui/resourceUri';

/**
 * True if the tool is for the apps of its server and not for models (MCP Apps, "Visibility"). Clients without the
 * extension would offer it to a model like any other.
 */
export function isAppOnly(tool: Described): boolean {
  const visibility = uiOf(tool)?.['visibility'];
  return Array.isArray(visibility) && !visibility.includes('model');
}

/** The addresses of the page that shows the tool's results (MCP Apps, "Resource Discovery"). */
export function pagesOf(tool: Described): string[] {
  const named = [uiOf(tool)?.['resourceUri'], tool._meta?.[FLAT_KEY]];
  return named.filter(isPage);
}

/** The tool with other addresses for its page; nothing else changes. */
export function withPages<T extends Described>(tool: T, rename: (uri: string) => string): T {
  const ui = uiOf(tool);
  const uri = ui?.['resourceUri'];
  const flat = tool._meta?.[FLAT_KEY];
  return {
    ...tool,
    _meta: {
      ...tool._meta,
      ...(isPage(uri) && { ui: { ...ui, resourceUri: rename(uri) } }),
      ...(isPage(flat) && { [FLAT_KEY]: rename(flat) }),
    },
  };
}

function uiOf({ _meta: meta }: Described): Record<string, unknown> | undefined {
  const ui = meta?.['ui'];
  return isRecord(ui) ? ui : undefined;
}
