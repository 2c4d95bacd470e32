import type { TimeSlices } from '../../core/time-slices.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { Composition, ToolPlace } from '../composition/composition.js';
import type { AppliedToolMode } from '../records/agent.js';
import { SEARCH_FOR_MODELS } from './search-tools.js';

/** Above one of these, `auto` means `search`. */
const MAX_TOOLS = 40;
const MAX_TOKENS = 10_000;
const BYTES_PER_TOKEN = 4;

/** The bytes of a definition without its name, cached as long as the upstream's list. */
const sizes = new WeakMap<KnownTool, number>();

/** What the mode of the agent means for these of its tools. */
export async function appliedMode(
  { toolMode }: Pick<Composition, 'toolMode'>,
  places: readonly ToolPlace[],
  slices: TimeSlices,
): Promise<AppliedToolMode> {
  if (toolMode !== 'auto') return toolMode;
  return places.length > MAX_TOOLS || (await definitionTokens(places, slices)) > MAX_TOKENS ? 'search' : 'all';
}

/** What the definitions of these tools cost in a request to a model, estimated. */
export async function definitionTokens(places: readonly ToolPlace[], slices: TimeSlices): Promise<number> {
  let bytes = 0;
  for (const { name, tool } of places) {
    bytes += name.length + (tool === undefined ? 0 : sizeOf(tool));
    if (slices.isOver) await slices.next();
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** What a model gets in search mode before it has searched: the search, and of these tools the pinned ones. */
export async function searchModeTokens(
  { pinnedTools }: Pick<Composition, 'pinnedTools'>,
  places: readonly ToolPlace[],
  slices: TimeSlices,
): Promise<number> {
  const pinned = new Set(pinnedTools);
  const ofSearch = Math.ceil(bytesOf(SEARCH_FOR_MODELS) / BYTES_PER_TOKEN);
  const shown = places.filter(({ name }) => pinned.has(name));
  return ofSearch + (await definitionTokens(shown, slices));
}

function sizeOf(tool: KnownTool): number {
  const known = sizes.get(tool);
  if (known !== undefined) return known;
  const size = bytesOf({ ...tool.definition, name: '' });
  sizes.set(tool, size);
  return size;
}

/** Of what a model gets of the definition. */
function bytesOf({ name, description = '', inputSchema }: UpstreamTool): number {
  return Buffer.byteLength(JSON.stringify({ name, description, input_schema: inputSchema }));
}
