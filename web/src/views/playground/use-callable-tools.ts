import { useQueries } from '@tanstack/react-query';
import { toolQuery, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import type { RunOptions } from './run-options.js';

const NONE: readonly string[] = [];
/** The tier of agents without one. Its model also answers for tiers that have no model. */
const DEFAULT_TIER = 'smart';

/** A chat to which the message is sent. */
interface Chat {
  /** Empty while no agent is chosen. */
  readonly agentId: string;
  readonly options: RunOptions;
}

/**
 * The names of the tools that `/call` can name: those of the agents whose model is the built-in one. To other models,
 * `/call` is plain text. Agents and tiers are read once a line of the message begins with a slash.
 */
export function useCallableTools(chats: readonly Chat[], text: string): readonly string[] {
  const organization = useOrganization();
  const { may } = organization;
  const isWanted = /^\//m.test(text) && may('MODEL_TIERS_GET') && may('COLLECTION_VIRTUAL_MCP_GET');
  const { data: tiers } = useTool('MODEL_TIERS_GET', {}, { isEnabled: isWanted });
  const ids = [...new Set(chats.map(({ agentId }) => agentId))].filter(Boolean);
  const agents = useQueries({
    queries: ids.map((id) => ({
      ...toolQuery(organization, 'COLLECTION_VIRTUAL_MCP_GET', { id }),
      enabled: isWanted,
    })),
  });
  if (!isWanted || tiers === undefined) return NONE;
  const isBuiltIn = (tier: string): boolean =>
    [tier, DEFAULT_TIER].every((each) => tiers.item[each as keyof typeof tiers.item] === null);
  const names = chats.flatMap(({ agentId, options: { tier } }) => {
    const agent = agents[ids.indexOf(agentId)]?.data;
    return agent && isBuiltIn(tier ?? agent.item.tier ?? DEFAULT_TIER) ? agent.tools.map(({ name }) => name) : [];
  });
  return [...new Set(names)];
}
