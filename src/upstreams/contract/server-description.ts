import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/client';

/** What an upstream says of itself when a session with it begins (`initialize` or `server/discover`). */
export interface ServerDescription {
  /** Does it speak the modern era (MCP 2026-07-28)? It may speak the legacy one as well. */
  readonly isModern: boolean;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: ServerCapabilities;
}
