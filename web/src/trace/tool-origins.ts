import type { ToolOutput } from '../../../packages/client/src/api.js';

/** Which tool of which connection the tools of an agent are, by the names that they have in its runs. */
export type ToolOrigins = ReadonlyMap<string, ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'>['tools'][number]>;

/** @param agent undefined if it cannot be read: none of its tools is known then */
export function originsOf(agent: ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'> | undefined): ToolOrigins {
  return new Map(agent?.tools.map((tool) => [tool.name, tool]));
}
