import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { Composition, ToolPlace } from '../composition/composition.js';

/** The tools of an agent that models get. */
export function placesForModels({ places }: Composition): ToolPlace[] {
  return [...places.values()].filter(({ tool }) => !isForAppAlone(tool?.definition._meta));
}

/** True if the tool is only for the app of its server, and not for models (MCP Apps, `visibility`). */
function isForAppAlone(meta: UpstreamTool['_meta']): boolean {
  const ui = meta?.['ui'];
  const visibility = isRecord(ui) ? ui['visibility'] : undefined;
  return Array.isArray(visibility) && visibility.includes('app') && !visibility.includes('model');
}
