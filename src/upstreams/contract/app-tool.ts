import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from './upstream.js';

/**
 * True if the tool is for the apps of its server and not for models (MCP Apps, "Visibility"). Clients without the
 * extension would offer it to a model like any other.
 */
export function isAppOnly({ _meta: meta }: Pick<UpstreamTool, '_meta'>): boolean {
  const ui = meta?.['ui'];
  const visibility = isRecord(ui) ? ui['visibility'] : undefined;
  return Array.isArray(visibility) && !visibility.includes('model');
}
