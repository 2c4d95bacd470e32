import type { ListItem, ToolInput } from '../../../../../packages/client/src/api.js';
import { schemaOf, schemaTextOf } from './output-schema.js';
import { type SpendDraft, spendDraftOf, spendOf } from '../../../spending/spend-fields.js';

export type Agent = ListItem<'COLLECTION_VIRTUAL_MCP_LIST'>;
export type ApprovalRule = Agent['connections'][number]['approval'];

export type SelectedTool = NonNullable<Agent['connections'][number]['selected_tools']>[number];

/** A connection of the agent, as the form holds it. */
export interface MemberDraft {
  readonly connectionId: string;
  /** By the upstream's own names; null selects all, future ones included. */
  readonly selectedTools: readonly SelectedTool[] | null;
  /** Empty: derived from the connection's title. */
  readonly prefix: string;
  readonly approval: ApprovalRule;
}

/** What the form for an agent holds. Numbers are kept as they are typed. */
export interface AgentDraft {
  readonly title: string;
  /** Empty for a new agent: then the service makes it of the title. */
  readonly slug: string;
  readonly description: string;
  readonly instructions: string;
  readonly tier: '' | 'fast' | 'smart' | 'thinking';
  readonly maxSteps: string;
  readonly historyMessages: string;
  readonly historyTokens: string;
  readonly approvalMinutes: string;
  readonly spend: SpendDraft;
  readonly toolMode: Agent['tool_mode'];
  /** Names of tools, separated by white space or commas. */
  readonly pinnedTools: string;
  /** JSON, or empty. */
  readonly outputSchema: string;
  readonly webhookOutput: boolean;
  readonly exposeRun: boolean;
  /** Seconds, or empty. */
  readonly askTimeout: string;
  readonly isActive: boolean;
  readonly members: readonly MemberDraft[];
}

/** @param agent undefined for a new agent, which gets the defaults of the service */
export function agentDraftOf(agent?: Agent): AgentDraft {
  return {
    title: agent?.title ?? '',
    slug: agent?.slug ?? '',
    description: agent?.description ?? '',
    instructions: agent?.instructions ?? '',
    tier: agent?.tier ?? '',
    maxSteps: textOf(agent?.max_steps),
    historyMessages: textOf(agent?.history.max_messages),
    historyTokens: textOf(agent?.history.max_tokens),
    approvalMinutes: textOf(agent && agent.approval_timeout / 60),
    spend: spendDraftOf(agent?.spend),
    toolMode: agent?.tool_mode ?? 'all',
    pinnedTools: agent?.pinned_tools.join(', ') ?? '',
    outputSchema: schemaTextOf(agent?.output_schema),
    webhookOutput: agent?.webhook_output ?? false,
    exposeRun: agent?.expose_run ?? false,
    askTimeout: textOf(agent?.ask_timeout_s),
    isActive: agent?.status !== 'inactive',
    members:
      agent?.connections.map(({ connection_id: connectionId, selected_tools: selectedTools, prefix, approval }) => ({
        connectionId,
        selectedTools,
        prefix: prefix ?? '',
        approval,
      })) ?? [],
  };
}

/**
 * The properties that the form sets. Empty numbers are left out: a new agent gets the defaults, an old one keeps its
 * own.
 */
export function agentDataOf(draft: AgentDraft, stored?: Agent): ToolInput<'COLLECTION_VIRTUAL_MCP_CREATE'>['data'] {
  const approvalMinutes = numberOf(draft.approvalMinutes);
  return {
    title: draft.title.trim(),
    description: draft.description.trim() || null,
    instructions: draft.instructions.trim() === '' ? null : draft.instructions,
    tier: draft.tier === '' ? null : draft.tier,
    ...defined({
      slug: draft.slug.trim() || undefined,
      max_steps: numberOf(draft.maxSteps),
      ask_timeout_s: numberOf(draft.askTimeout),
      approval_timeout: approvalMinutes === undefined ? undefined : Math.round(approvalMinutes * 60),
    }),
    tool_mode: draft.toolMode,
    pinned_tools: [...new Set(draft.pinnedTools.split(/[\s,]+/).filter((name) => name !== ''))],
    output_schema: schemaOf(draft.outputSchema),
    webhook_output: draft.webhookOutput,
    expose_run: draft.exposeRun,
    history: defined({ max_messages: numberOf(draft.historyMessages), max_tokens: numberOf(draft.historyTokens) }),
    spend: spendOf(draft.spend),
    // Sent only if it changed: "active" would clear the fault of an agent in the status "error".
    ...(draft.isActive !== (stored?.status !== 'inactive') && {
      status: draft.isActive ? ('active' as const) : ('inactive' as const),
    }),
    connections: draft.members.map(({ connectionId, selectedTools, prefix, approval }) => ({
      connection_id: connectionId,
      selected_tools: selectedTools === null ? null : [...selectedTools],
      prefix: prefix.trim() || null,
      approval,
    })),
  };
}

/** A connection as it is added: all of its tools, without approvals. */
export function newMember(connectionId: string): MemberDraft {
  return { connectionId, selectedTools: null, prefix: '', approval: 'none' };
}

function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}

function numberOf(text: string): number | undefined {
  return text.trim() === '' ? undefined : Number(text);
}

/** Without the properties that are undefined. */
function defined<T extends object>(value: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}
