import type { EntryPoint } from '../audit/audit-record.js';
import type { Connection } from '../connections/connection.js';
import type { ToolCaller } from './contract/tool-caller.js';
import type { ToolList } from './catalog/tool-list.js';

/** Names a connection. */
export interface ConnectionRef {
  readonly organizationId: string;
  readonly connectionId: string;
}

/** A call of an upstream's tool, with everything that `ToolInvoker` needs to decide on it. */
export interface ToolCall {
  readonly connection: Connection;
  /** The upstream's own name of the tool. */
  readonly toolName: string;
  readonly args: unknown;
  readonly caller: ToolCaller;
  readonly entryPoint: EntryPoint;
  /** The agent whose composition the call came through. */
  readonly agentId?: string;
  /** May the caller call this tool of the connection? A tool that is public needs no permission. */
  readonly permitted: (toolName: string) => boolean;
  /** What the upstream lists to the caller's own session, where that may differ from what it lists to everyone. */
  readonly sessionTools?: () => Promise<ToolList>;
  /** Does the answer go through the streaming endpoint? */
  readonly streamable?: boolean;
  /** The caller's trace context (W3C), unchecked. */
  readonly trace?: { readonly traceparent?: string | undefined; readonly tracestate?: string | undefined };
}
