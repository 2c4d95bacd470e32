import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsObject,
  IsString,
  IsUUID,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { CreateOf, IdInput, UpdateOf } from '../../core/validation/item-input.js';
import {
  CONNECTION_STATUSES,
  type ConnectionStatus,
  SETTABLE_STATUSES,
  type SettableStatus,
} from '../../connections/connection.js';
import { IsText, IsTitle } from '../../connections/field-rules.js';
import type { SpendLimit } from '../../core/limits.js';
import { ListInput } from '../../core/paging/list-input.js';
import { SpendLimitInput, SpendLimitItem, WarnedItemOf } from '../../core/spend-limit.dto.js';
import { IsOptionalObject, Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { type Tier, TIERS } from '../../core/tier.js';
import {
  APPLIED_TOOL_MODES,
  type AppliedToolMode,
  type ApprovalRule,
  MAX_APPROVAL_TIMEOUT_S,
  MAX_ASK_TIMEOUT_S,
  MAX_CONNECTIONS,
  MAX_HISTORY_MESSAGES,
  MAX_HISTORY_TOKENS,
  MAX_MAX_STEPS,
  MAX_PINNED_TOOLS,
  MIN_APPROVAL_TIMEOUT_S,
  TOOL_MODES,
  type ToolMode,
  type SelectedTool,
} from './agent.js';
import { IsApprovalRule, IsSelectedTools, IsOutputSchema } from './agent-rules.js';
import { IsAgentSlug } from './agent-slug.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';

const MAX_DESCRIPTION_LENGTH = 2000;
const MAX_INSTRUCTIONS_LENGTH = 100_000;
/** A composed name. */
const NAME_IN_AGENT = /^[A-Za-z0-9_-]{1,64}$/;
const PREFIX = /^[a-z0-9_-]{1,32}$/;

export class AgentConnectionData {
  @IsUUID()
  connection_id: string;

  /**
   * The selected tools; null or absent selects all. A tool is given by the upstream's own name, or as an object that
   * gives it a name, a description or arguments of the agent's own.
   */
  @MayBeAbsent()
  @MayBeNull()
  @IsSelectedTools()
  selected_tools?: SelectedTool[] | null;

  /** Prefixes a tool's name where the name alone would be ambiguous; by default derived from the connection's title. */
  @MayBeAbsent()
  @MayBeNull()
  @Matches(PREFIX, { message: 'must be 1 to 32 of a-z, 0-9, _ and -' })
  prefix?: string | null;

  /**
   * Which calls wait for somebody's approval in runs: `none` (default), `all`, `destructive` (all tools but those whose
   * upstream says readOnlyHint: true or destructiveHint: false), or a list of tools by the upstream's own names.
   */
  @MayBeAbsent()
  @IsApprovalRule()
  approval?: ApprovalRule;
}

/** How much of the thread a run reads before its own request. An absent limit has its default. */
export class AgentHistoryData {
  /** By default 200. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_HISTORY_MESSAGES)
  max_messages?: number;

  /** Estimated as one token for each 4 bytes of JSON. By default 100,000. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_HISTORY_TOKENS)
  max_tokens?: number;
}

/** Properties that are optional when an agent is created or updated. Null clears the value. */
class AgentOptions {
  /** Names the agent within the organization, as `model` of responses. By default made of the title. */
  @MayBeAbsent()
  @IsAgentSlug()
  slug?: string;

  @MayBeAbsent()
  @MayBeNull()
  @IsText(MAX_DESCRIPTION_LENGTH)
  description?: string | null;

  /** The system prompt of every run. */
  @MayBeAbsent()
  @MayBeNull()
  @IsText(MAX_INSTRUCTIONS_LENGTH)
  instructions?: string | null;

  /** The tier of runs that do not request one. */
  @MayBeAbsent()
  @MayBeNull()
  @IsIn(TIERS)
  tier?: Tier | null;

  /** Maximum number of model calls per run. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_MAX_STEPS)
  max_steps?: number;

  /** How long somebody can answer a request for an approval, in seconds; by default 86,400. Then the call is denied. */
  @MayBeAbsent()
  @IsInt()
  @Min(MIN_APPROVAL_TIMEOUT_S)
  @Max(MAX_APPROVAL_TIMEOUT_S)
  approval_timeout?: number;

  /**
   * Which tools a model gets. `all` (default): all of them. `search`: the pinned ones and `search_tools`, which makes
   * those that it finds callable. `auto`: `search` above 40 tools or 10,000 tokens of definitions.
   */
  @MayBeAbsent()
  @IsIn(TOOL_MODES)
  tool_mode?: ToolMode;

  /**
   * Tools that a model gets without a search, by their names in the agent. Names that the agent lacks have no effect.
   */
  @MayBeAbsent()
  @MayBeNull()
  @IsArray()
  @ArrayMaxSize(MAX_PINNED_TOOLS)
  @ArrayUnique()
  @Matches(NAME_IN_AGENT, { each: true, message: 'each tool must be a name of 1 to 64 of A-Z, a-z, 0-9, _ and -' })
  pinned_tools?: string[] | null;

  /** Null restores the defaults. */
  @IsOptionalObject(() => AgentHistoryData)
  history?: AgentHistoryData | null;

  /** What the model calls of its runs can cost. Null removes the limit. */
  @IsOptionalObject(() => SpendLimitInput)
  spend?: SpendLimitInput | null;

  /**
   * A JSON Schema (2020-12) whose type is `object`, of at most 64 KiB. The last answer of a run is then one JSON object
   * that is valid against it: the run's `output`. Null lets the agent answer freely.
   */
  @MayBeAbsent()
  @MayBeNull()
  @IsOutputSchema()
  output_schema?: Record<string, unknown> | null;

  /** Whether `run.completed` webhooks include the output; by default false. */
  @MayBeAbsent()
  @IsBoolean()
  webhook_output?: boolean;

  /** Whether the agent is a tool itself: its MCP endpoint then has the tool `ask`, which runs it. By default false. */
  @MayBeAbsent()
  @IsBoolean()
  expose_run?: boolean;

  /** How long a call of `ask` waits for the answer, in seconds; by default 600. Tasks have no such limit. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_ASK_TIMEOUT_S)
  ask_timeout_s?: number;

  @MayBeAbsent()
  @IsIn(SETTABLE_STATUSES)
  status?: SettableStatus;

  /** All connections of the agent, in order. An update replaces the whole list. */
  @MayBeAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_CONNECTIONS)
  @ArrayUnique(connectionIdOf, { message: 'must not contain duplicate connections' })
  @ValidateNested({ each: true })
  @Type(() => AgentConnectionData)
  connections?: AgentConnectionData[];
}

export class AgentCreateData extends AgentOptions {
  @IsTitle()
  title: string;
}

/** Absent properties keep their value. */
export class AgentUpdateData extends AgentOptions {
  @MayBeAbsent()
  @IsTitle()
  title?: string;
}

export class AgentCreateInput extends CreateOf(AgentCreateData) {}

export class AgentUpdateInput extends UpdateOf(AgentUpdateData) {}

export class AgentListInput extends ListInput {
  /** Lists only the agents that use this connection or agent. */
  @MayBeAbsent()
  @IsUUID()
  connection_id?: string;
}

export class AgentIdInput extends IdInput {}

class AgentConnectionItem {
  @IsUUID()
  connection_id: string;

  @MayBeNull()
  @IsSelectedTools()
  selected_tools: SelectedTool[] | null;

  @MayBeNull()
  @IsString()
  prefix: string | null;

  @IsApprovalRule()
  approval: ApprovalRule;
}

class AgentHistoryItem {
  @IsInt()
  max_messages: number;

  @IsInt()
  max_tokens: number;
}

/** What an agent is and does: what its versions keep. */
export class AgentContent {
  @IsString()
  title: string;

  @MayBeNull()
  @IsString()
  description: string | null;

  @MayBeNull()
  @IsString()
  instructions: string | null;

  @MayBeNull()
  @IsIn(TIERS)
  tier: Tier | null;

  @IsInt()
  max_steps: number;

  @IsInt()
  approval_timeout: number;

  @IsIn(TOOL_MODES)
  tool_mode: ToolMode;

  @IsArray()
  @IsString({ each: true })
  pinned_tools: string[];

  @Nested(() => AgentHistoryItem)
  history: AgentHistoryItem;

  @MayBeNull()
  @IsObject()
  output_schema: Record<string, unknown> | null;

  @IsBoolean()
  webhook_output: boolean;

  @IsBoolean()
  expose_run: boolean;

  @IsInt()
  ask_timeout_s: number;

  @NestedList(() => AgentConnectionItem)
  connections: AgentConnectionItem[];
}

export class AgentItem extends AgentContent {
  @IsUUID()
  id: string;

  @IsString()
  slug: string;

  @MayBeNull()
  @Nested(() => SpendLimitItem)
  spend: SpendLimit | null;

  @IsIn(CONNECTION_STATUSES)
  status: ConnectionStatus;

  /** How many tools it selects: by name, and of the connections whose tools it selects all, those last listed. */
  @IsInt()
  tool_count: number;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class AgentAnswer extends ItemOf(AgentItem) {}

export class AgentChanged extends WarnedItemOf(AgentItem) {}

/** The origin of a tool of an agent. */
class AgentToolItem {
  /** The composed name, which the gateway and the agent's runs use. */
  @IsString()
  name: string;

  /** The connection that provides the tool. */
  @IsUUID()
  connection_id: string;

  /** The upstream's own name of the tool. */
  @IsString()
  upstream_name: string;
}

/** Estimated as one token for each 4 bytes of JSON. */
class DefinitionTokens {
  /** The definitions of all tools. */
  @IsInt()
  all: number;

  /** The definitions of `search_tools` and the pinned tools. */
  @IsInt()
  search: number;
}

export class AgentDetails extends ItemOf(AgentItem) {
  /** The last known tools; no upstream is called. */
  @NestedList(() => AgentToolItem)
  tools: AgentToolItem[];

  /** What the definitions that a model gets with each request cost, by mode. */
  @Nested(() => DefinitionTokens)
  definition_tokens: DefinitionTokens;

  /** The mode that applies: what `tool_mode: auto` means for these tools. */
  @IsIn(APPLIED_TOOL_MODES)
  applied_tool_mode: AppliedToolMode;
}

export class AgentPage extends PageOf(AgentItem) {}

/** UUIDs are compared without case. Values that are not connections are refused elsewhere. */
function connectionIdOf(member: unknown): unknown {
  const id = typeof member === 'object' && member !== null && 'connection_id' in member ? member.connection_id : member;
  return typeof id === 'string' ? id.toLowerCase() : id;
}
