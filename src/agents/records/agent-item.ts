import { faultAt } from '../../core/domain-error.js';
import type { VirtualConnection } from '../../connections/virtual-connections.js';
import { type AgentConnection, DEFAULT_HISTORY_MESSAGES, DEFAULT_HISTORY_TOKENS } from './agent.js';
import type { AgentConnectionData, AgentHistoryData, AgentItem, AgentContent } from './agent.dto.js';
import type { AgentEntity } from './agent.entity.js';
import type { StoredAgent } from './agent.repository.js';

/** The agent as returned to callers. */
export function toItem(connection: VirtualConnection, agent: StoredAgent): AgentItem {
  return {
    id: connection.id,
    title: connection.title,
    slug: agent.slug,
    description: connection.description,
    instructions: agent.instructions,
    tier: agent.tier,
    max_steps: agent.maxSteps,
    approval_timeout: agent.approvalTimeoutS,
    tool_mode: agent.toolMode,
    pinned_tools: [...agent.pinnedTools],
    history: { max_messages: agent.historyMaxMessages, max_tokens: agent.historyMaxTokens },
    spend: agent.spend,
    output_schema: agent.outputSchema as AgentItem['output_schema'],
    webhook_output: agent.webhookOutput,
    expose_run: agent.exposeRun,
    ask_timeout_s: agent.askTimeoutS,
    status: connection.status,
    tool_count: agent.toolCount,
    connections: agent.connections.map(({ connectionId, selectedTools, prefix, approval }) => ({
      connection_id: connectionId,
      selected_tools: selectedTools === null ? null : [...selectedTools],
      prefix,
      approval: typeof approval === 'string' ? approval : [...approval],
    })),
    created_at: connection.createdAt.toISOString(),
    updated_at: connection.updatedAt.toISOString(),
  };
}

/** The stored limits of the history; an absent one has its default. */
export function toHistory(
  history: AgentHistoryData | null | undefined,
): Pick<AgentEntity, 'historyMaxMessages' | 'historyMaxTokens'> {
  return {
    historyMaxMessages: history?.max_messages ?? DEFAULT_HISTORY_MESSAGES,
    historyMaxTokens: history?.max_tokens ?? DEFAULT_HISTORY_TOKENS,
  };
}

/** Limits all connections and selections of an agent together, as JSON. */
const MAX_CONNECTIONS_BYTES = 131_072;

/**
 * Converts ids to lower case, as PostgreSQL writes them.
 * @throws DomainError `invalid_request` for connections that are too large together
 */
export function toConnections(members: readonly AgentConnectionData[]): AgentConnection[] {
  if (Buffer.byteLength(JSON.stringify(members)) > MAX_CONNECTIONS_BYTES) {
    throw faultAt('data.connections', 'max_bytes', `Must be at most ${MAX_CONNECTIONS_BYTES} bytes of JSON.`);
  }
  return members.map(({ connection_id, selected_tools = null, prefix = null, approval = 'none' }) => ({
    connectionId: connection_id.toLowerCase(),
    selectedTools: selected_tools,
    prefix,
    approval,
  }));
}

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
