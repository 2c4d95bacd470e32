import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNotEmpty,
  IsString,
  IsUUID,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { CONNECTION_STATUSES, type ConnectionStatus } from '../../connections/connection.js';
import { ListInput } from '../../core/paging/list-input.js';
import { PageOf } from '../../core/paging/page-of.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';

/** The largest page of tools, and of callers. */
const MAX_PAGE = 500;
export const DEFAULT_PAGE = 100;

const CALLER_TYPES = ['key', 'person'] as const;

/** An API key, or a member of the organization. */
export class AccessCallerItem {
  @IsIn(CALLER_TYPES)
  type: (typeof CALLER_TYPES)[number];

  /** Of the key, or of the user. */
  @IsUUID()
  id: string;

  /** The name of the key, or the e-mail address of the person. */
  @IsString()
  name: string;
}

class AccessCallerState extends AccessCallerItem {
  /** False for a key that has expired: it can do nothing. */
  @IsBoolean()
  active: boolean;
}

export class AccessOfCallerInput extends ListInput {
  /** The key that is asked about. Exactly one of this and user_id. */
  @MayBeAbsent()
  @IsUUID()
  api_key_id?: string;

  /** The member that is asked about. */
  @MayBeAbsent()
  @IsUUID()
  user_id?: string;
}

/** A connection or agent that the caller reaches. */
class ReachedItem {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  /** VIRTUAL for an agent. */
  @IsString()
  connection_type: string;

  /** While it is inactive, every call is refused, whatever the permissions. */
  @IsIn(CONNECTION_STATUSES)
  status: ConnectionStatus;

  /** How many tools it was last known to offer; null if it never listed them. */
  @MayBeNull()
  @IsInt()
  tools: number | null;

  /** How many of them the caller is permitted to call at the MCP endpoint of this connection or agent. */
  @IsInt()
  callable: number;

  /** Whether the caller can run the agent, which then uses all of its tools; null for a connection. */
  @MayBeNull()
  @IsBoolean()
  run: boolean | null;

  /** How many tools of the agent runs call only after an approval; null for a connection. */
  @MayBeNull()
  @IsInt()
  approvals: number | null;
}

export class AccessOfCaller extends PageOf(ReachedItem) {
  @Nested(() => AccessCallerState)
  caller: AccessCallerState;

  /** The names of the management tools that the caller is permitted to call. */
  @IsArray()
  @IsString({ each: true })
  management_tools: string[];
}

class PageInput {
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_PAGE)
  limit?: number;

  @MayBeAbsent()
  @IsInt()
  @Min(0)
  offset?: number;
}

export class AccessToToolInput extends PageInput {
  /** A connection, or an agent. */
  @IsUUID()
  connection_id: string;

  /** The name of the tool there. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(256)
  tool_name: string;
}

/** An agent that has the tool. */
class ToolAgentItem {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  @IsIn(CONNECTION_STATUSES)
  status: ConnectionStatus;

  /** The name of the tool in the agent. */
  @IsString()
  tool_name: string;

  /** Whether runs of the agent call it only after an approval. */
  @IsBoolean()
  approval: boolean;

  /** Whether the agent offers the tool to callers without a credential. */
  @IsBoolean()
  public: boolean;
}

/** A caller who can have the tool called, and in which ways. */
class ToolCallerItem extends AccessCallerItem {
  /** At the MCP endpoint of the connection. */
  @IsBoolean()
  direct: boolean;

  /** The agents at whose MCP endpoints the caller can call it. */
  @IsArray()
  @IsUUID(undefined, { each: true })
  agents: string[];

  /** The agents that the caller can run. */
  @IsArray()
  @IsUUID(undefined, { each: true })
  runs: string[];
}

export class AccessToTool {
  @IsUUID()
  connection_id: string;

  @IsString()
  connection_title: string;

  /** The name that the server gave the tool. */
  @IsString()
  tool_name: string;

  /** Whether callers without a credential can call it at the endpoint of the connection. */
  @IsBoolean()
  public: boolean;

  /** The agents that have the tool, directly or through other agents. */
  @NestedList(() => ToolAgentItem)
  agents: ToolAgentItem[];

  /** API keys first, then people. */
  @NestedList(() => ToolCallerItem)
  items: ToolCallerItem[];

  @IsInt()
  totalCount: number;

  @IsBoolean()
  hasMore: boolean;

  /** Whether agents or people were left out because there are too many. */
  @IsBoolean()
  truncated: boolean;
}

export class AccessToolsInput extends PageInput {
  /** A connection, or an agent. Without it, `search` finds tools of all connections. */
  @MayBeAbsent()
  @IsUUID()
  connection_id?: string;

  /** A part of the name, in upper or lower case; at least two characters without a connection. */
  @MayBeAbsent()
  @IsString()
  @MaxLength(256)
  search?: string;

  /** The key for which `callable` is decided; at most one of this and user_id. */
  @MayBeAbsent()
  @IsUUID()
  api_key_id?: string;

  @MayBeAbsent()
  @IsUUID()
  user_id?: string;
}

class AccessToolItem {
  @IsString()
  name: string;

  /** The connection that provides it. */
  @IsUUID()
  connection_id: string;

  @IsString()
  connection_title: string;

  /** Its name there. */
  @IsString()
  upstream_name: string;

  /** Whether runs of the agent call it only after an approval; null for a connection. */
  @MayBeNull()
  @IsBoolean()
  approval: boolean | null;

  /** Whether callers without a credential can call it here. */
  @IsBoolean()
  public: boolean;

  /** Whether the caller that is asked about is permitted to call it here; null if none is. */
  @MayBeNull()
  @IsBoolean()
  callable: boolean | null;
}

export class AccessTools {
  @NestedList(() => AccessToolItem)
  items: AccessToolItem[];

  @IsInt()
  totalCount: number;

  @IsBoolean()
  hasMore: boolean;
}

export class AccessGraphInput {
  /** ISO 8601 with an offset. Default: 24 hours before `to`. */
  @MayBeAbsent()
  @IsString()
  from?: string;

  /** ISO 8601 with an offset, exclusive. Default: now. */
  @MayBeAbsent()
  @IsString()
  to?: string;
}

/** Which of several things a caller reaches. */
class ReachedIds {
  /** True: all of them, and `ids` is empty. */
  @IsBoolean()
  all: boolean;

  @IsArray()
  @IsUUID(undefined, { each: true })
  ids: string[];
}

class GraphCaller extends AccessCallerState {
  /** What the caller reaches: an index of `reaches`. */
  @IsInt()
  reach: number;
}

/** What callers with the same rights reach. */
class GraphReach {
  /** The connections and agents at whose MCP endpoints a grant opens something. */
  @Nested(() => ReachedIds)
  calls: ReachedIds;

  /** The agents that they can run. */
  @Nested(() => ReachedIds)
  runs: ReachedIds;
}

class GraphNode {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  @IsString()
  connection_type: string;

  @IsIn(CONNECTION_STATUSES)
  status: ConnectionStatus;

  /** How many tools it last listed; null if it never did, and for agents. */
  @MayBeNull()
  @IsInt()
  tools: number | null;
}

const APPROVALS = ['none', 'destructive', 'all', 'some'] as const;

/** An agent's use of a connection or of another agent. */
class GraphUse {
  @IsUUID()
  agent_id: string;

  @IsUUID()
  connection_id: string;

  /** How many tools are selected; null: all. */
  @MayBeNull()
  @IsInt()
  tools: number | null;

  /** Which calls of runs need an approval; `some`: those of listed tools. */
  @IsIn(APPROVALS)
  approval: (typeof APPROVALS)[number];
}

/** What went from one caller to one connection in the range. */
class GraphTraffic {
  @MayBeNull()
  @IsUUID()
  api_key_id: string | null;

  @MayBeNull()
  @IsUUID()
  user_id: string | null;

  /** The agent through which the calls went; null: directly. */
  @MayBeNull()
  @IsUUID()
  agent_id: string | null;

  @IsUUID()
  connection_id: string;

  @IsInt()
  calls: number;

  @IsInt()
  errors: number;

  @IsInt()
  denied: number;

  /** Of the runs that were posted in the range. */
  @IsInt()
  approvals_requested: number;

  @IsInt()
  approvals_given: number;

  @IsInt()
  approvals_denied: number;
}

export class AccessGraph {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @NestedList(() => GraphCaller)
  callers: GraphCaller[];

  /** Each for all callers with the same rights, who can be many. */
  @NestedList(() => GraphReach)
  reaches: GraphReach[];

  /** Connections, and agents with the type VIRTUAL, by title. */
  @NestedList(() => GraphNode)
  nodes: GraphNode[];

  @NestedList(() => GraphUse)
  uses: GraphUse[];

  /** The ways with the most calls, in descending order. */
  @NestedList(() => GraphTraffic)
  traffic: GraphTraffic[];

  /** Whether people or traffic were left out because there is too much. */
  @IsBoolean()
  truncated: boolean;
}
