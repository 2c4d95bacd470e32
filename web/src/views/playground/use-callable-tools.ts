import { useQueries } from '@tanstack/react-query';
import { toolQuery, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import type { RunOptions } from './run-options.js';

const NONE: readonly string[] = [];
/** The tier of an agent without one, which also stands in for tiers without a model. */
const DEFAULT_TIER = 'smart';

/** A chat that gets the message. */
interface Chat {
  /** Empty while none is chosen. */
  readonly agentId: string;
  readonly options: RunOptions;
}

/**
 * The names of the tools of the chats in which the built-in model answers, which calls a tool when it is told to; to
 * other models, `/call` is a text. They are read when a message begins like a directive.
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
