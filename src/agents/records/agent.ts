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

/**
 * Which calls of a connection's tools need an approval: of no tool, of destructive tools, of all tools, or of these
 * tools.
 */
export type ApprovalRule = 'none' | 'destructive' | 'all' | readonly string[];

/** One connection of an agent. */
export interface AgentConnection {
  readonly connectionId: string;
  /** The upstream's own names of the selected tools; null selects all. */
  readonly selectedTools: readonly string[] | null;
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
  readonly instructions: string | null;
  /** For runs that do not request a tier; null defers to the organization. */
  readonly tier: Tier | null;
  /** Maximum number of model calls per run. */
  readonly maxSteps: number;
  /** How long somebody can answer a request for an approval, in seconds. */
  readonly approvalTimeoutS: number;
  /** The JSON Schema of its answers as text; null if they are free. */
  readonly outputSchema: string | null;
  readonly status: ConnectionStatus;
  /** In the order given by the caller. */
  readonly connections: readonly AgentConnection[];
}
