import type { ToolOutput } from '../../../../packages/client/src/api.js';

type ToolAccess = Pick<ToolOutput<'ACCESS_TO_TOOL'>, 'agents' | 'tool_name'>;

/** An agent that has a tool, perhaps under several names. */
interface AgentWithTool extends Pick<ToolAccess['agents'][number], 'id' | 'title' | 'status'> {
  /** `as <names>`; empty if its only name there is that of the tool. */
  readonly naming: string;
  /** Whether runs ask first under every name: otherwise they need not. */
  readonly approval: boolean;
}

/** The agents that have the tool, each once. */
export function agentsWithTool({ agents, tool_name: own }: ToolAccess): AgentWithTool[] {
  return [...Map.groupBy(agents, ({ id }) => id).values()].flatMap((same) => {
    const names = same.map(({ tool_name: name }) => name);
    const naming = names.every((name) => name === own) ? '' : `as ${names.join(', ')}`;
    const approval = same.every((agent) => agent.approval);
    return same.slice(0, 1).map(({ id, title, status }) => ({ id, title, status, naming, approval }));
  });
}
