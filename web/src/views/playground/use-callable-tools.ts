import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import type { RunOptions } from './run-options.js';

const NONE: readonly string[] = [];
/** The tier of an agent without one, which also stands in for tiers without a model. */
const DEFAULT_TIER = 'smart';

/**
 * The names of an agent's tools if the built-in model answers, which calls a tool when it is told to; none for other
 * models, to which `/call` is a text. They are read when a message begins like a directive.
 */
export function useCallableTools(agentId: string, { tier }: RunOptions, text: string): readonly string[] {
  const { may } = useOrganization();
  const isWanted = agentId !== '' && /^\//m.test(text) && may('MODEL_TIERS_GET') && may('COLLECTION_VIRTUAL_MCP_GET');
  const { data: tiers } = useTool('MODEL_TIERS_GET', {}, { isEnabled: isWanted });
  const { data: agent } = useTool('COLLECTION_VIRTUAL_MCP_GET', { id: agentId }, { isEnabled: isWanted });
  if (!isWanted || tiers === undefined || agent?.item.id !== agentId) return NONE;
  const isBuiltIn = [tier ?? agent.item.tier ?? DEFAULT_TIER, DEFAULT_TIER].every(
    (each) => tiers.item[each as keyof typeof tiers.item] === null,
  );
  return isBuiltIn ? agent.tools.map(({ name }) => name) : NONE;
}
