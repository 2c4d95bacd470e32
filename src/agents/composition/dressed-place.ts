import type { Dressed } from '../dressing/tool-dresser.js';
import { argumentsOf, type ToolDressing } from '../dressing/tool-dressing.js';
import type { DressedTool } from '../records/selected-tool.js';
import type { ToolPlace } from './composition.js';

/**
 * The place of a tool as an agent dresses it. What nested agents fix stays: their covered arguments are not among those
 * that the tool has. A dressing that does not fit makes the tool unavailable.
 * @param dressed the place's tool with the dressing
 */
export function dressedPlace(place: ToolPlace, selected: DressedTool, dressed: Dressed): ToolPlace {
  const own = argumentsOf(selected);
  const { dressing: inner, tool, connection } = place;
  const misfit = inner?.misfit ?? dressed.misfit;
  const dressing: ToolDressing = {
    // The last one put in counts.
    fixed: [...own.fixed, ...(inner?.fixed ?? [])],
    covered: [...own.covered, ...(inner?.covered ?? [])],
    upstreamDefinition: inner?.upstreamDefinition ?? tool?.definition,
    ...(misfit !== undefined && { misfit }),
  };
  const { id: connectionId, title } = connection;
  const fault = dressed.misfit === undefined ? place.fault : { connectionId, title, reason: dressed.misfit };
  return { ...place, name: selected.name ?? place.name, tool: dressed.tool, fault, dressing };
}
