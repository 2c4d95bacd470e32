import type { Principal } from '../../../core/principal.js';
import type { Connection } from '../../../connections/connection.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';

/** How long a caller waits for an upstream that there is another way to, in milliseconds. */
export const PATIENCE_MS = 3_000;

/**
 * A caller in a session with an agent whose client declared that it answers requests (sampling, elicitation, roots).
 */
export interface SessionOwner {
  /** As a caller of the agent. */
  readonly caller: ProxyCaller;
  readonly principal: Principal;
  /** The caller's session with the agent. */
  readonly session: Session & { readonly initialize: string };
}

/** A session with a connection of the agent that only its owner uses. */
export interface ClientUpstreamSession {
  readonly connection: Connection;
  readonly session: Session;
  /** The MCP revision that the upstream agreed to. */
  readonly protocolVersion: string;
}

/** The headers of every message in the session. */
export function headersOf({ protocolVersion }: Pick<ClientUpstreamSession, 'protocolVersion'>): Record<string, string> {
  return { 'mcp-protocol-version': protocolVersion };
}
