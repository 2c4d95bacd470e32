import type { Tier } from '../../common/tier.js';
import type { ConnectionStatus } from '../../connections/connection.js';

export const DEFAULT_MAX_STEPS = 20;
export const MAX_MAX_STEPS = 100;
export const MAX_CONNECTIONS = 100;
/** Of one agent, all those inside it included. */
export const MAX_AGENTS = 200;

/** One connection of an agent. */
export interface AgentConnection {
  readonly connectionId: string;
  /** The upstream's own names of the tools that the agent has; null selects all. */
  readonly selectedTools: readonly string[] | null;
  /** Put before a tool's name where that name alone would be ambiguous; null derives one from the connection's title. */
  readonly prefix: string | null;
}

/** What a run needs to know of its agent. */
export interface RunnableAgent {
  readonly id: string;
  readonly title: string;
  readonly instructions: string | null;
  /** Of runs that ask for none; null leaves it to the organization. */
  readonly tier: Tier | null;
  /** Model calls per run at most. */
  readonly maxSteps: number;
  readonly status: ConnectionStatus;
  /** In the order in which they were given. */
  readonly connections: readonly AgentConnection[];
}
