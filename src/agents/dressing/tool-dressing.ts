import { namesIn } from '../../core/json/json-pointer.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { DressedTool } from '../records/selected-tool.js';

/** The names that lead to an argument: its own, and before it those of the objects that it is in. */
export type ArgumentPath = readonly string[];

interface FixedArgument {
  readonly path: ArgumentPath;
  readonly value: unknown;
}

/** The arguments of one dressed tool. */
export interface DressedArguments {
  readonly fixed: readonly FixedArgument[];
  /** What callers neither see nor set: the fixed arguments, and the hidden ones. */
  readonly covered: readonly ArgumentPath[];
}

/** How the agents on the way to a tool have changed it. */
export interface ToolDressing extends DressedArguments {
  /** The tool as the upstream listed it; undefined while it cannot be listed. */
  readonly upstreamDefinition: UpstreamTool | undefined;
  /** Why no call can be made with it, in a sentence. */
  readonly misfit?: string;
}

/** The arguments of a dressed tool, with their paths in names. */
export function argumentsOf({ arguments: { fixed = {}, hidden = [] } = {} }: DressedTool): DressedArguments {
  const values = Object.entries(fixed).map(([pointer, value]) => ({ path: namesIn(pointer), value }));
  return { fixed: values, covered: [...values.map(({ path }) => path), ...hidden.map(namesIn)] };
}
