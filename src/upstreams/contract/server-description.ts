import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/client';

/** How an upstream describes itself at the start of a session (`initialize` or `server/discover`). */
export interface ServerDescription {
  /** True if it supports the modern era (MCP 2026-07-28). It may support the legacy era as well. */
  readonly isModern: boolean;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: ServerCapabilities;
}
