import type { CallToolResult, Implementation, Progress, Tool } from '@modelcontextprotocol/client';
import type { ServerDescription } from './server-description.js';

/** A tool as the upstream lists it, members unknown to this version of MCP included. */
export type UpstreamTool = Tool;

export interface CallToolOptions {
  /** Aborting it cancels the call at the upstream. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call, connecting included; at most and by default the target's. */
  timeoutMs?: number;
  onProgress?: (progress: Progress) => void;
  /** In whose name (`keyOfCaller`); without it, the service's own. */
  caller?: string;
  /** Sent to the upstream as `x-request-id`, where it takes headers. */
  requestId?: string;
  /** W3C trace context, sent to the upstream where it takes headers. */
  traceHeaders?: Readonly<Record<string, string>>;
}

/**
 * The MCP client of one connection, whatever its kind. It connects with the first request, keeps one session for all callers,
 * and opens a new one when the upstream has lost it. Every method rejects with `UpstreamError` and nothing else.
 */
export interface Upstream {
  /** The negotiated MCP revision, such as `2025-11-25`; undefined until the first request. */
  readonly protocolVersion: string | undefined;
  /** What the upstream says it is; undefined until the first request, and when it does not say. */
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  /** What the upstream says of itself; opens the session if there is none. */
  serverDescription(signal: AbortSignal): Promise<ServerDescription>;
  /** All tools of the upstream, every page of the list; an upstream without tools has none. */
  listTools(signal?: AbortSignal): Promise<UpstreamTool[]>;
  /** The result of the tool as the upstream sent it; a tool that failed is a result too (`isError`). */
  callTool(name: string, args: Record<string, unknown>, options?: CallToolOptions): Promise<CallToolResult>;
  /**
   * Any other request that an MCP client may make (`resources/read`, `prompts/get`, …): its result as the upstream sent it.
   * @param params without `_meta.progressToken`, which is the client's own affair
   */
  request(method: string, params: Record<string, unknown> | undefined, options?: CallToolOptions): Promise<object>;
  /** Ends the session; what is under way fails with `cancelled`. Never rejects. */
  close(): Promise<void>;
}
