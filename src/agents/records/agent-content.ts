import type { AgentContent, AgentItem } from './agent.dto.js';

/** What a version keeps of an agent, in the order in which the versions store it. */
const CONTENT = [
  'title',
  'description',
  'instructions',
  'tier',
  'max_steps',
  'approval_timeout',
  'tool_mode',
  'pinned_tools',
  'history',
  'output_schema',
  'webhook_output',
  'expose_run',
  'ask_timeout_s',
  'connections',
] as const satisfies readonly (keyof AgentContent)[];

/**
 * The agent without its status, its spending limit and its slug: taking back a version must not switch an agent on,
 * raise a limit or move an address.
 */
export function contentOf(item: AgentItem): AgentContent {
  return Object.fromEntries(CONTENT.map((name) => [name, item[name]])) as unknown as AgentContent;
}
