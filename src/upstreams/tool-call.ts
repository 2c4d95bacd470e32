import type { EntryPoint } from '../audit/calls/audit-record.js';
import type { DomainError } from '../core/domain-error.js';
import type { Connection } from '../connections/connection.js';
import type { AppliedLimit } from '../platform/limits/rate-limits.js';
import type { StateOwner, ToolCaller } from './contract/callers.js';
import type { KnownTool, ToolList } from './catalog/tool-list.js';

/** Identifies a connection. */
export interface ConnectionRef {
  readonly organizationId: string;
  readonly connectionId: string;
  /** The person for whom it is used. */
  readonly userId?: string | null | undefined;
}

/** How long a call waits for its turn. */
export interface LimitPatience {
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call of an upstream's tool, with everything that `ToolInvoker` needs to check it. */
export interface ToolCall {
  readonly connection: Connection;
  /** The upstream's own name of the tool. */
  readonly toolName: string;
  readonly args: unknown;
  /**
   * Why the call is refused, whatever the tool's schema says of its arguments.
   * @param tool as it is now; undefined if it is unknown
   */
  readonly refusalFor?: ((tool: KnownTool | undefined) => DomainError | undefined) | undefined;
  readonly caller: ToolCaller;
  /** Who has a session of its own with an upstream that has state; absent: the shared one is used. */
  readonly owner?: StateOwner;
  readonly entryPoint: EntryPoint;
  /** The agent whose composition the call came through. */
  readonly agentId?: string;
  /** True if the caller is permitted to call this tool of the connection. A public tool needs no permission. */
  readonly permitted: (toolName: string) => boolean;
  /** The call needs an approval and has none: it is refused, for another reason if there is one. */
  readonly isUnapproved?: boolean;
  /** The tools of the caller's own session, if they can differ from those of the shared session. */
  readonly sessionTools?: () => Promise<ToolList>;
  /** Is told the rate limits that apply, before the call is admitted or refused. */
  readonly onLimited?: (applied: readonly AppliedLimit[]) => void;
  /** How long the call waits when a rate limit is reached; absent: it is refused at once. */
  readonly waitForLimit?: LimitPatience;
  /** True if the tool is called as a task, whose result is awaited. */
  readonly asTask?: boolean;
  /** True if the answer goes through the streaming endpoint. */
  readonly streamable?: boolean;
  /** The caller's trace context (W3C), not validated. */
  readonly trace?: { readonly traceparent?: string | undefined; readonly tracestate?: string | undefined };
}
