import type { ModelRecording } from '../../core/model-recording.js';
import type { Tier } from '../../core/tier.js';
import type { ConnectionStatus } from '../../connections/connection.js';
import type { SelectedTool } from './selected-tool.js';

export const DEFAULT_MAX_STEPS = 20;
export const MAX_MAX_STEPS = 100;
export const DEFAULT_HISTORY_MESSAGES = 200;
export const MAX_HISTORY_MESSAGES = 1000;
export const DEFAULT_HISTORY_TOKENS = 100_000;
export const MAX_HISTORY_TOKENS = 500_000;
export const MAX_CONNECTIONS = 100;
/** For one agent, including all agents inside it. */
export const MAX_AGENTS = 200;

export const DEFAULT_APPROVAL_TIMEOUT_S = 86_400;
export const MIN_APPROVAL_TIMEOUT_S = 60;
export const MAX_APPROVAL_TIMEOUT_S = 2_592_000;

export const DEFAULT_ASK_TIMEOUT_S = 600;
export const MAX_ASK_TIMEOUT_S = 3_600;

/**
 * Which tools a model or client gets at first: all, or only a search for the others. `auto` decides by their number.
 */
export const TOOL_MODES = ['all', 'search', 'auto'] as const;
export type ToolMode = (typeof TOOL_MODES)[number];
/** What a mode means for given tools. */
export const APPLIED_TOOL_MODES = ['all', 'search'] as const;
export type AppliedToolMode = (typeof APPLIED_TOOL_MODES)[number];
export const DEFAULT_TOOL_MODE: ToolMode = 'all';
export const MAX_PINNED_TOOLS = 100;

/**
 * Which calls of a connection's tools need an approval: of no tool, of destructive tools, of all tools, or of these
 * tools.
 */
export type ApprovalRule = 'none' | 'destructive' | 'all' | readonly string[];

/** One connection of an agent. */
export interface AgentConnection {
  readonly connectionId: string;
  /** By the upstream's own names; null selects all tools as they are. */
  readonly selectedTools: readonly SelectedTool[] | null;
  /**
   * Prefixes a tool's name where the name alone would be ambiguous; null derives the prefix from the connection's
   * title.
   */
  readonly prefix: string | null;
  /** The names in a list are those of `selectedTools`: the upstream's own, or those in the nested agent. */
  readonly approval: ApprovalRule;
}

/** The settings of an agent that a run uses. */
export interface RunnableAgent {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly instructions: string | null;
  /** For runs that do not request a tier; null defers to the organization. */
  readonly tier: Tier | null;
  /** Maximum number of model calls per run. */
  readonly maxSteps: number;
  /** How long somebody can answer a request for an approval, in seconds. */
  readonly approvalTimeoutS: number;
  readonly toolMode: ToolMode;
  /** Tools that need no search, by their names in the agent. */
  readonly pinnedTools: readonly string[];
  /** The JSON Schema of its answers as text; null if they are free. */
  readonly outputSchema: string | null;
  /** Whether its MCP endpoint has a tool that runs the agent. */
  readonly exposeRun: boolean;
  /** How long a call of that tool waits for the answer, in seconds. */
  readonly askTimeoutS: number;
  readonly status: ConnectionStatus;
  /** Of its organization. */
  readonly modelRecording: ModelRecording;
  /** In the order given by the caller. */
  readonly connections: readonly AgentConnection[];
}
