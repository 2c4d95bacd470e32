import type { ToolOutput } from '../../../packages/client/src/api.js';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import type { CallRecord } from './span.js';

/** Which tool of which connection the tools of an agent are, by the names that they have in its runs. */
export type ToolOrigins = ReadonlyMap<string, ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'>['tools'][number]>;

/** @param agent undefined if it cannot be read: none of its tools is known then */
export function originsOf(agent: ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'> | undefined): ToolOrigins {
  return new Map(agent?.tools.map((tool) => [tool.name, tool]));
}

/** The agent through which a run made its calls; undefined without a call. */
export function agentOf(calls: readonly CallRecord[]): string | undefined {
  return calls.find(({ agent_id: id }) => id !== null)?.agent_id ?? undefined;
}

/** Whether the agent was deleted, or is not for the caller: the names of its tools are all that is known then. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof SignalboxError && (error.status === 404 || error.status === 403);
}
