import { isAppOnly } from '../../upstreams/contract/app-tool.js';
import type { Composition, ToolPlace } from '../composition/composition.js';

/** The tools of an agent that models get. */
export function placesForModels({ places }: Composition): ToolPlace[] {
  return [...places.values()].filter(isForModels);
}

/** False for a tool that only apps of its server call. */
export function isForModels({ tool }: ToolPlace): boolean {
  return tool === undefined || !isAppOnly(tool.definition);
}
