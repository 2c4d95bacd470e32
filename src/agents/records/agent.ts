import type { ModelRecording } from '../../core/model-recording.js';
import type { Tier } from '../../core/tier.js';
import type { ConnectionStatus } from '../../connections/connection.js';

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

/** Changes to the arguments of a tool. Paths are JSON Pointers (RFC 6901) of argument names, such as `/filter/repo`. */
interface DressedArguments {
  /** Values that every call has, by path. Callers neither see nor set these arguments. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Arguments that callers neither see nor set. */
  readonly hidden?: readonly string[];
}

/** A selected tool with a name, a description or arguments that the agent gives it. */
export interface DressedTool {
  /** The upstream's own name, or the name in the nested agent. */
  readonly tool: string;
  /** By default `tool`. */
  readonly name?: string;
  /** By default the upstream's. */
  readonly description?: string;
  readonly arguments?: DressedArguments;
}

/** A tool that an agent selects of a connection. */
export type SelectedTool = string | DressedTool;

/** The name under which the connection has the tool. */
export function toolOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : selected.tool;
}

/** The name that the agent wants for the tool. */
export function wantedNameOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : (selected.name ?? selected.tool);
}
